package raft

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"reflect"
	"strings"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/server"
	slotrange "lockserver/server/cluster"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/server/slotmove"
	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// asShard makes the members of a group those of the shard s1, which owns the slots 0 to 99.
func asShard(eo *engine.Options, so *server.Options) {
	for name, value := range map[string]string{"cluster-enabled": "yes", "cluster-name": "shop", "cluster-shard": "s1", "cluster-slots": "0-99"} {
		so.Directives[name] = value
	}
	id := topology.MemberID("shop", "s1", eo.ID)
	so.Group = topology.New(topology.GroupOptions{Form: topology.Cluster, Strict: true, Self: func(net.Addr) string { return id }})
}

// snapshot makes a snapshot of a member, unless its log has no entry behind the newest snapshot.
func (m *member) snapshot() {
	eventually(m.group.t, "a snapshot is made", func() bool {
		got := m.ask("RAFT", "SNAPSHOT").Str
		if strings.Contains(got, "wait until the configuration entry") {
			m.group.moveSlots(&slotmove.Entry{Kind: slotmove.Thaw}) // it is void, and behind that entry
		}
		return got == "OK" || strings.Contains(got, hraft.ErrNothingNewToSnapshot.Error())
	})
}

// slotTable makes a snapshot of a member and returns the table of slots in it, or nil.
func (m *member) slotTable() *slotmove.Table {
	t := m.group.t
	m.snapshot()
	all, err := m.snaps.List()
	require.NoError(t, err)
	_, from, err := m.snaps.Open(all[0].ID)
	require.NoError(t, err)
	defer from.Close()
	head, data, err := raft.CheckSnapshot(from)
	require.NoError(t, err)
	for _, a := range data.Aux {
		if a.Name == rdb.AuxSlots {
			name, table, err := raft.ReadSlots(a.Value)
			require.NoError(t, err)
			require.Equal(t, "shop", name)
			require.Equal(t, table.Last > 0 || len(table.Met) > 0, head.Moves, "older versions refuse the snapshot")
			return table
		}
	}
	return nil
}

// moveSlots proposes a step of a move through the leader, and reports whether it is committed and not void.
func (g *group) moveSlots(step *slotmove.Entry) bool {
	b := append([]byte{1, byte(len("moves"))}, "moves"...)
	b = append(b, 0)
	for range 3 {
		b = binary.LittleEndian.AppendUint64(b, 0)
	}
	leader := g.leader()
	g.network.mu.Lock()
	e := g.network.leads[leader.at()]
	g.network.mu.Unlock()
	return e.Propose(step.AppendTo(b))() == nil
}

// randomStep returns a step of a move to or from the shard s1. Some steps are void.
func randomStep(rng *rand.Rand, t *slotmove.Table) *slotmove.Entry {
	e := &slotmove.Entry{Kind: slotmove.Kind(1 + rng.IntN(int(slotmove.Cancel))), Peer: "s2"}
	first := 10 * rng.IntN(12)
	e.Slots = []slotrange.Range{{First: first, Last: first + 9}}
	e.Move = slotmove.ID{Source: []string{"s1", "s2"}[rng.IntN(2)], Number: 1 + int64(rng.IntN(3))}
	if rng.IntN(8) == 0 {
		return e
	}
	switch { // the move that is under way, or the next one
	case e.Move.Source == "s1" && t.Out != nil:
		e.Move.Number, e.To = t.Out.Number, t.Out.End
	case e.Move.Source == "s1":
		e.Kind, e.Move.Number = slotmove.Leave, t.Last+1
	case len(t.In) > 0:
		e.Move, e.From, e.To = t.In[0].Move, t.In[0].At, t.In[0].At
		if e.Kind == slotmove.Stage {
			e.From.Cut, e.To.Cut = 5, 5
			e.To.Index++
		}
	default:
		e.Kind = slotmove.Arrive
		if len(t.Met) > 0 {
			e.Move.Number = t.Met[0].Number + 1
		}
	}
	return e
}

// TestTableOfMoves: steps of moves, random and some of them void, go through the log of a group, beside the
// steps that its leader takes by itself. The members end, begin again from the log or from a snapshot, and
// lose the lead. At the end all have the same table of slots, and the same slots that arrive.
func TestTableOfMoves(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	g := newGroup(t, 3, asShard)
	eventually(t, "the group owns its slots", func() bool { return g.leader().field("raft_slots_generation") == "1" })
	require.Equal(t, slotmove.New("s1", []slotrange.Range{{First: 0, Last: 99}}), g.leader().slotTable())
	counts := map[bool]int{}
	for range 10 {
		for range 8 {
			counts[g.moveSlots(randomStep(rng, g.leader().slotTable()))]++
		}
		m := g.all[rng.IntN(3)]
		if rng.IntN(2) == 0 {
			m.snapshot()
		}
		m.stop()
		m.start()
		g.allVote()
	}
	g.leader().snapshot()
	lost := g.others(g.leader())[0]
	lost.stop()
	lost.wipe() // the leader gives it a snapshot
	lost.start()
	t.Logf("%d steps counted, %d were void", counts[true], counts[false])
	require.Greater(t, counts[true], 10)
	eventually(t, "all have the same table", func() bool {
		at := g.all[0].field("raft_applied_index")
		if at != g.all[1].field("raft_applied_index") || at != g.all[2].field("raft_applied_index") {
			return false
		}
		first := g.all[0].slotTable()
		return reflect.DeepEqual(first, g.all[1].slotTable()) && reflect.DeepEqual(first, g.all[2].slotTable())
	})
}
