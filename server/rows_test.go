package server

import (
	"testing"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/tests/tabletest"
)

func TestRowsLikeRedis(t *testing.T) {
	t.Parallel()
	table := commands.NewTable(append(commands.Families(), serverRows()...)...)
	tabletest.Compare(t, func(args ...string) resp.Value {
		return tabletest.Reply(t, 3, func(argv [][]byte, out *resp.Writer) error {
			row, err := table.Resolve(argv)
			if err != nil {
				return err
			}
			return row.Run(&commands.Ctx{Argv: argv, Row: row, Table: table, Out: out})
		}, args...)
	})
}
