package commands

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// call runs one command of a table that needs neither data nor a server, and returns its reply.
func call(t *testing.T, table *Table, proto int, args ...string) resp.Value {
	t.Helper()
	out := &resp.Writer{Proto: proto}
	serve(table, out, words(args...))
	in := bufio.NewReader(bytes.NewReader(out.Buf))
	v, err := resp.ReadValue(in)
	require.NoError(t, err)
	require.Zero(t, in.Buffered(), "one command, one reply")
	return v
}

// serve writes the reply to one command, as the executor would.
func serve(table *Table, out *resp.Writer, argv [][]byte) {
	row, err := table.Resolve(argv)
	mark := out.Mark()
	if err == nil {
		err = row.Run(&Ctx{Argv: argv, Row: row, Table: table, Out: out})
	}
	if err != nil {
		out.Rollback(mark)
		out.Error(err.Error())
	}
}
