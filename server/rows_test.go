package server

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/commands/tabletest"
	"lockserver/internal/resp"
)

func TestRowsLikeRedis(t *testing.T) {
	table := commands.NewTable(append(commands.Families(), serverRows()...)...)
	tabletest.Compare(t, func(args ...string) resp.Value {
		var argv [][]byte
		for _, a := range args {
			argv = append(argv, []byte(a))
		}
		row, err := table.Resolve(argv)
		require.NoError(t, err)
		out := &resp.Writer{Proto: 3}
		require.NoError(t, row.Run(&commands.Ctx{Argv: argv, Row: row, Table: table, Out: out}))
		v, err := resp.ReadValue(bufio.NewReader(bytes.NewReader(out.Buf)))
		require.NoError(t, err)
		return v
	}, map[string]tabletest.Deviation{
		"command|getkeys":         {Lines: "arg", Why: "Redis documents the arguments since 7.2 only"},
		"command|getkeysandflags": {Lines: "arg", Why: "Redis documents the arguments since 7.2 only"},
		"geohash":                 {Lines: "arg", Why: "Redis says that the members are optional since 7.2 only"},
		"geopos":                  {Lines: "arg", Why: "Redis says that the members are optional since 7.2 only"},
		"zrank":                   {Lines: "arity", Why: "WITHSCORE came with 7.2"},
		"zrevrank":                {Lines: "arity", Why: "WITHSCORE came with 7.2"},
	})
}
