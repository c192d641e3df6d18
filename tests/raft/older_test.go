package raft

import (
	"fmt"
	"strings"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft/engine"
)

// olderGroup prepares members that have the log of a version without identities.
func olderGroup(t *testing.T, members int) *group {
	g := prepare(t, members, nil)
	var all hraft.Configuration
	for _, m := range g.all {
		all.Servers = append(all.Servers, hraft.Server{ID: hraft.ServerID(m.peer.ID), Address: engine.Address(m.peer)})
	}
	for _, m := range g.all {
		require.NoError(t, m.logs.StoreLog(&hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(all)}))
		require.NoError(t, m.logs.SetUint64([]byte("CurrentTerm"), 1))
	}
	return g
}

// named waits until all of these know the id, and the group their disks.
func (g *group) named(all ...*member) {
	g.t.Helper()
	eventually(g.t, "all are named", func() bool {
		id := g.leader().field("raft_group_id")
		disks := map[string]string{}
		for _, e := range g.leader().ask("RAFT", "MEMBERS").Elems {
			disks[e.Elems[1].Str] = e.Elems[9].Str
		}
		for _, m := range all {
			if id == "" || m.field("raft_group_id") != id || m.field("raft_incarnation") != disks[m.peer.ID] {
				return false
			}
		}
		return true
	})
}

// TestGroupOfAnOlderVersion: members with the log of a version without identities go on with it. The leader
// gives the group an id when a majority is there. A member that is away then gets its identity when it is
// back. A member that lost its disk is taken in anew.
func TestGroupOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	g := olderGroup(t, 3)
	a, b, c := g.all[0], g.all[1], g.all[2]
	a.start()
	b.start()
	require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	g.named(a, b)
	require.Empty(t, c.field("raft_group_id"))
	c.start()
	g.named(a, b, c)
	g.same()
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

// TestLostDiskBeforeTheGroupHasAnID: a member of a group without an id comes with an empty disk. It forms no
// group, and waits. The leader gives the group its id, and takes the member in with its new disk.
func TestLostDiskBeforeTheGroupHasAnID(t *testing.T) {
	t.Parallel()
	for _, members := range []int{3, 5} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			g := olderGroup(t, members)
			lost := g.all[0]
			lost.wipe()
			lost.start()
			eventually(t, "it waits", func() bool { return lost.field("raft_waiting") != "" })
			require.Empty(t, lost.field("raft_group_id"))
			for _, m := range g.all[1:] {
				m.start()
			}
			require.Equal(t, "OK", g.do("SET", "x", "1").Str)
			g.named(g.all...)
			g.allVote()
			g.same()
			eventually(t, "it waits no more", func() bool { return lost.field("raft_waiting") == "" })
			require.Contains(t, g.leader().ask("RAFT", "MEMBERS").String(), lost.field("raft_incarnation"))
			for _, m := range g.all[1 : 1+members/2] { // the one that was lost is needed now
				m.stop()
			}
			require.Equal(t, "1", g.do("GET", "x").Str)
		})
	}
}

// TestNoIDWithoutAMajority: if most members have lost their disks, no other member leads or gives the group
// an id.
func TestNoIDWithoutAMajority(t *testing.T) {
	t.Parallel()
	g := olderGroup(t, 3)
	for _, m := range g.all[:2] {
		m.wipe()
	}
	for _, m := range g.all {
		m.start()
	}
	for _, m := range g.all[:2] {
		eventually(t, "it waits", func() bool { return strings.Contains(m.field("raft_waiting"), "has the data of a group") })
	}
	for begun := time.Now(); time.Since(begun) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
		for _, m := range g.all {
			require.NotEqual(t, "leader", m.field("raft_role"))
			require.Empty(t, m.field("raft_group_id"))
		}
	}
}
