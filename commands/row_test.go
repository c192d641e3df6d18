package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRedact: a call with passwords is copied before they are hidden; any other call is not copied.
func TestRedact(t *testing.T) {
	argv := [][]byte{[]byte("auth"), []byte("user"), []byte("word")}
	open := &Row{}
	require.Same(t, &argv[0], &open.Redact(argv)[0])
	row := &Row{Secrets: func(args [][]byte, dst []int) []int {
		for i := 1; i < len(args); i++ {
			dst = append(dst, i)
		}
		return dst
	}}
	require.Same(t, &argv[0], &row.Redact(argv[:1])[0])
	shown := row.Redact(argv)
	require.Equal(t, [][]byte{[]byte("auth"), []byte("(redacted)"), []byte("(redacted)")}, shown)
	require.Equal(t, "word", string(argv[2]))
}
