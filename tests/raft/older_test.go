package raft

import (
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft/engine"
)

// TestGroupOfAnOlderVersion: members that have the log of a version without identities go on with it. When
// all are there the leader gives the group an id, and a member whose disk is lost then is taken in anew.
func TestGroupOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	g := prepare(t, 3, nil)
	var all hraft.Configuration
	for _, m := range g.all {
		all.Servers = append(all.Servers, hraft.Server{ID: hraft.ServerID(m.peer.ID), Address: engine.Address(m.peer)})
	}
	for _, m := range g.all {
		require.NoError(t, m.logs.StoreLog(&hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(all)}))
		require.NoError(t, m.logs.SetUint64([]byte("CurrentTerm"), 1))
	}
	a, b, c := g.all[0], g.all[1], g.all[2]
	a.start()
	b.start()
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	require.Empty(t, a.field("raft_group_id"))
	require.Contains(t, g.leader().ask("RAFT", "ADD", "d", "d:1", "d:2").Str, "has no id yet")
	c.start()
	eventually(t, "all know the id", func() bool {
		id := a.field("raft_group_id")
		return id != "" && b.field("raft_group_id") == id && c.field("raft_group_id") == id
	})
	g.same()
	for _, m := range g.all {
		for _, e := range g.leader().ask("RAFT", "MEMBERS").Elems {
			if e.Elems[1].Str == m.peer.ID {
				require.Equal(t, m.field("raft_incarnation"), e.Elems[9].Str)
			}
		}
	}
	out := g.others(g.leader())[0]
	out.stop()
	out.logs = hraft.NewInmemStore()
	out.snaps = hraft.NewInmemSnapshotStore()
	out.start()
	g.same()
	eventually(t, "all are voters", func() bool {
		for _, e := range g.leader().ask("RAFT", "MEMBERS").Elems {
			if e.Elems[3].Str == "learner" {
				return false
			}
		}
		return out.field("raft_waiting") == ""
	})
	for _, m := range g.all {
		m.stop()
	}
	for _, m := range g.all {
		m.start()
	}
	require.Equal(t, "1", g.do("GET", "x").Str)
}
