package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/server/standalone"
	"lockserver/tests/tabletest"
)

// tests/differential compares the replies about modules with those of Redis. This test has the differences.
func TestNoModulesAreThere(t *testing.T) {
	t.Parallel()
	table := commands.NewTable(standalone.Rows())
	ask := func(words ...string) string {
		return tabletest.Reply(t, 2, func(argv [][]byte, out *resp.Writer) error {
			row, err := table.Resolve(argv)
			if err != nil {
				return err
			}
			return row.Run(&commands.Ctx{Argv: argv, Row: row, Table: table, Out: out})
		}, words...).String()
	}
	require.Equal(t, "-ERR unknown subcommand 'LOAD'. Try MODULE HELP.", ask("MODULE", "LOAD", "x.so"))
	require.Equal(t, "[]", ask("MODULE", "LIST"))
}
