package attach

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/tests/tabletest"
)

// host attaches to each owner that it is asked for; each of them holds one lock.
type host struct {
	attached []string
	prefixes bool
	full     error
}

func (h *host) Attach(_ *commands.Ctx, owners [][]byte, prefixes bool) (int64, error) {
	h.prefixes = prefixes
	if h.full != nil {
		return 0, h.full
	}
	for _, owner := range owners {
		h.attached = append(h.attached, string(owner))
	}
	return int64(len(owners)), nil
}

func (h *host) Detach(_ *commands.Ctx, owners [][]byte, prefixes bool) int64 {
	h.prefixes = prefixes
	h.attached = slices.DeleteFunc(h.attached, func(name string) bool {
		return slices.ContainsFunc(owners, func(owner []byte) bool { return string(owner) == name })
	})
	return int64(len(owners))
}

// All owners of a call are read before anything is done for one of them; a refusal is the reply.
func TestCommands(t *testing.T) {
	h := &host{}
	table := commands.NewTable(Rows(func(*commands.Ctx) Attacher { return h }))
	ask := func(words ...string) string {
		return tabletest.Reply(t, 2, func(argv [][]byte, out *resp.Writer) error {
			row, err := table.Resolve(argv)
			if err != nil {
				return err
			}
			return row.Run(&commands.Ctx{Argv: argv, Row: row, Table: table, Out: out})
		}, words...).String()
	}
	require.Equal(t, "2", ask("LOCK.ATTACH", "ann", "ben"))
	require.Equal(t, []string{"ann", "ben"}, h.attached)
	for _, wrong := range []string{"", "$token", "$watchdog", "$mode", "$readers", "mode"} {
		require.Contains(t, ask("LOCK.ATTACH", "cat", wrong), "-ERR lock owner must not be")
		require.Contains(t, ask("LOCK.DETACH", "ann", wrong), "-ERR lock owner must not be")
	}
	require.Equal(t, []string{"ann", "ben"}, h.attached, "nothing was done for the others")
	require.Equal(t, "1", ask("LOCK.DETACH", "ann"))
	require.Equal(t, []string{"ben"}, h.attached)
	require.False(t, h.prefixes)
	require.Equal(t, "2", ask("LOCK.ATTACH", "prefix", "program1", "mode:of it"))
	require.True(t, h.prefixes)
	require.Equal(t, []string{"ben", "program1", "mode:of it"}, h.attached)
	require.Equal(t, "1", ask("LOCK.DETACH", "PREFIX", "program1"))
	require.True(t, h.prefixes)
	require.Equal(t, "-ERR a prefix of owners must have at least 8 bytes", ask("LOCK.ATTACH", "PREFIX", "program1", "seven77"))
	require.Equal(t, "1", ask("LOCK.ATTACH", "PREFIX"))
	require.False(t, h.prefixes, "alone it is an owner")
	h.full = errors.New("ERR too many")
	require.Equal(t, "-ERR too many", ask("LOCK.ATTACH", "ann"))
}
