package tabletest

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// Reply runs a command of a table without a server, and returns what it answers in this version of the
// protocol. run gets its words, and where to write; an error that it returns takes the place of what it has
// written.
func Reply(t testing.TB, proto int, run func(argv [][]byte, out *resp.Writer) error, words ...string) resp.Value {
	t.Helper()
	argv := make([][]byte, len(words))
	for i, w := range words {
		argv[i] = []byte(w)
	}
	out := &resp.Writer{Proto: proto}
	mark := out.Mark()
	if err := run(argv, out); err != nil {
		out.Rollback(mark)
		out.Error(err.Error())
	}
	in := bufio.NewReader(bytes.NewReader(out.Buf))
	v, err := resp.ReadValue(in)
	require.NoError(t, err)
	require.Zero(t, in.Buffered(), "one command, one reply")
	return v
}
