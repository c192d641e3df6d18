//go:build raft

package migration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
	"lockserver/server/topology"
)

// TestStatesOfMoves: the state of an ended move follows from the log. A member that did not see each entry by
// itself tells the same as its leader.
func TestStatesOfMoves(t *testing.T) {
	slots := []cluster.Range{{First: 5, Last: 7}}
	rest := []cluster.Range{{First: 0, Last: 4}, {First: 8, Last: 99}}
	all := []cluster.Range{{First: 0, Last: 99}}
	out := func(state slotmove.State, owned []cluster.Range) *slotmove.Table {
		return &slotmove.Table{Shard: "s1", Owned: owned, Last: 3, Out: &slotmove.Out{Number: 3, Target: "s2", Slots: slots, State: state}}
	}
	id := slotmove.ID{Source: "s2", Number: 4}
	in := &slotmove.Table{Shard: "s1", Owned: all, In: []slotmove.In{{Move: id, Slots: []cluster.Range{{First: 200, Last: 200}}}}}
	met := func(taken bool) *slotmove.Table {
		return &slotmove.Table{Shard: "s1", Owned: all, Met: []slotmove.Met{{Source: "s2", Number: 4, Taken: taken}}}
	}
	for name, tt := range map[string]struct {
		before, after *slotmove.Table
		message       string
		state         topology.MoveState
		text          string
	}{
		"cancelled":                {before: out(slotmove.Leaving, all), after: &slotmove.Table{Shard: "s1", Owned: all}, state: topology.Cancelled},
		"failed":                   {before: out(slotmove.Frozen, all), after: &slotmove.Table{Shard: "s1", Owned: all}, message: "too slow", state: topology.Failed, text: "too slow"},
		"given and dropped":        {before: out(slotmove.Given, rest), after: &slotmove.Table{Shard: "s1", Owned: rest}, state: topology.Succeeded},
		"give and drop came once":  {before: out(slotmove.Frozen, all), after: &slotmove.Table{Shard: "s1", Owned: rest}, state: topology.Succeeded},
		"here: taken":              {before: in, after: met(true), state: topology.Succeeded},
		"here: the source ends it": {before: in, after: met(false), state: topology.Failed, text: sourceEnded},
		"here: the staging fails":  {before: in, after: met(false), message: "a piece is damaged", state: topology.Failed, text: "a piece is damaged"},
	} {
		d := &Driver{known: map[string]*topology.Move{}}
		d.record(tt.before)
		require.Len(t, d.known, 1, name)
		for _, m := range d.known {
			require.False(t, m.State.Over(), name)
			m.Message = tt.message
		}
		d.record(tt.after)
		require.Empty(t, d.known, name)
		require.Equal(t, tt.state, d.past[0].State, name)
		require.Equal(t, tt.text, d.past[0].Message, name)
	}
}
