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
	const older = "the row still says what Redis 7.0 said"
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
		"acl|cat":               {Lines: "arg", Why: older},
		"client|kill":           {Lines: "arg", Why: older},
		"client|list":           {Lines: "arg", Why: older},
		"client|reply":          {Lines: "arg", Why: older},
		"client|unblock":        {Lines: "arg", Why: older},
		"cluster|addslotsrange": {Lines: "arg", Why: older},
		"cluster|delslotsrange": {Lines: "arg", Why: older},
		"cluster|meet":          {Lines: "arg", Why: older},
		"cluster|reset":         {Lines: "arg", Why: older},
		"cluster|setslot":       {Lines: "arg", Why: older},
		"config|get":            {Lines: "arg", Why: older},
		"config|set":            {Lines: "arg", Why: older},
		"hello":                 {Lines: "arg", Why: older},
		"psubscribe":            {Lines: "arg", Why: older},
		"shutdown":              {Lines: "arg", Why: older},
		"client|pause":          {Lines: "since", Why: older},
		"cluster|shards":        {Lines: "flags", Why: older},
		"cluster|slots":         {Lines: "flags", Why: older},
	})
}
