package resp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppendQuoted(t *testing.T) {
	require.Equal(t, `x"a\r\n\t\a\b\x00\xff\"\\ z'"`, string(AppendQuoted([]byte("x"), []byte("a\r\n\t\a\b\x00\xff\"\\ z'"))))
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	words, ok := SplitWords(nil, AppendQuoted(nil, all))
	require.True(t, ok)
	require.Equal(t, [][]byte{all}, words)
}
