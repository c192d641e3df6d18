package engine

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestCharter: members of a group that others formed are refused, also after one has forgotten its founders.
// A member that is added takes the charter of the first caller.
func TestCharter(t *testing.T) {
	dir := t.TempDir()
	three := []raft.Peer{{ID: "a", Raft: "a:1"}, {ID: "b", Raft: "b:1"}, {ID: "c", Raft: "c:1"}}
	others := []raft.Peer{{ID: "a", Raft: "d:1"}, {ID: "b", Raft: "e:1"}, {ID: "c", Raft: "f:1"}}
	open := func(name string, founders ...raft.Peer) *Charter {
		c, err := openCharter(filepath.Join(dir, name), founders)
		require.NoError(t, err)
		return c
	}
	a, b, x := open("a", three...), open("b", three[2], three[0], three[1]), open("x", others...)
	require.NoError(t, a.meet(b.said()))
	require.ErrorIs(t, a.meet(x.said()), errOtherCharter)
	require.ErrorIs(t, x.meet(a.said()), errOtherCharter)

	added := open("added")
	require.Equal(t, unknown, added.said())
	require.ErrorIs(t, a.meet(added.said()), errOtherCharter, "it is not a member before it has been called")
	require.NoError(t, added.meet(unknown))
	require.NoError(t, added.meet(a.said()))
	require.NoError(t, a.meet(added.said()))
	require.ErrorIs(t, added.meet(x.said()), errOtherCharter)
	require.ErrorIs(t, open("added", others...).meet(x.said()), errOtherCharter, "it is kept, whatever is configured later")
	require.NoError(t, open("a", three[0], others[1]).meet(b.said()))

	var none *Charter
	require.NoError(t, none.meet(a.said()))
	require.Equal(t, unknown, none.said())
	_, err := openCharter(filepath.Join(dir, "a", "no directory"), three)
	require.Error(t, err)
}
