package commands

import (
	"testing"

	"lockserver/internal/resp"
	"lockserver/tests/tabletest"
)

// call runs one command of a table that needs neither data nor a server, and returns its reply.
func call(t *testing.T, table *Table, proto int, args ...string) resp.Value {
	t.Helper()
	return tabletest.Reply(t, proto, func(argv [][]byte, out *resp.Writer) error { return serve(table, out, argv) }, args...)
}

// serve runs one command.
func serve(table *Table, out *resp.Writer, argv [][]byte) error {
	row, err := table.Resolve(argv)
	if err != nil {
		return err
	}
	return row.Run(&Ctx{Argv: argv, Row: row, Table: table, Out: out})
}
