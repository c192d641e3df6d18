package script

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
)

// TestSmallScriptsAllocateNothing: what EVAL costs beside the work of the script is no garbage.
func TestSmallScriptsAllocateNothing(t *testing.T) {
	for _, script := range []string{"", "return 1", "local n = 0 for i = 1, 100 do n = n + i end return n"} {
		h := newTestHost(t)
		argv := [][]byte{[]byte("EVAL"), []byte(script), []byte("0")}
		row, err := h.table.Resolve(argv)
		require.NoError(t, err)
		out := resp.Writer{Proto: 2}
		c := &commands.Ctx{Argv: argv, Row: row, Table: h.table, Out: &out, DB: h.store.DB(0), Rand: rand.New(rand.NewPCG(1, 1)),
			Session: h, Settings: &commands.Settings{MaxStringBytes: math.MaxInt64}}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			out.Buf, h.commands = out.Buf[:0], h.commands[:0]
			require.NoError(t, row.Run(c))
		}), script)
		require.False(t, bytes.HasPrefix(out.Buf, []byte("-")), string(out.Buf))
	}
}
