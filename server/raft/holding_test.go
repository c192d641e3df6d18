package raft

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// TestHolds: a shard gives slots away and takes others at the same time. A step of one move does not end the
// hold of clients for a step of the other one. Freeze, give and take are written only while clients are held
// for them.
func TestHolds(t *testing.T) {
	m, s := leads(&slowTransfer{})
	require.NoError(t, m.Owned.meet(m, slotsEntry(0, "shop s1 0-5\n", 3, 4)))
	away := func(kind slotmove.Kind) *slotmove.Entry {
		e := &slotmove.Entry{Kind: kind, Move: slotmove.ID{Source: "s1", Number: 1}, Peer: "s2", Slots: []cluster.Range{{First: 2, Last: 4}}}
		if kind == slotmove.Give {
			e.To = m.Owned.Table().Out.End
		}
		return e
	}
	index := uint64(6)
	apply := func(e *slotmove.Entry) {
		index++
		require.NoError(t, openedMember{m, m.run}.moveSlots(index, moveEntry(e, 3, 4)))
	}
	may := func(kinds ...slotmove.Kind) {
		t.Helper()
		for _, kind := range []slotmove.Kind{slotmove.Freeze, slotmove.Give, slotmove.Take} {
			err := m.MoveSlots(&slotmove.Entry{Kind: kind, Move: slotmove.ID{Source: "s1", Number: 1}})
			is := false
			for _, k := range kinds {
				is = is || k == kind
			}
			if is {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, errNotHolden)
			}
		}
	}
	hold := func(kind HoldKind) uint64 {
		t.Helper()
		n, err := m.Hold(kind)
		require.NoError(t, err)
		require.True(t, s.held)
		_, err = m.Hold(ForFreeze)
		require.ErrorIs(t, err, errHeld)
		return n
	}
	apply(away(slotmove.Leave))
	may()

	take := hold(ForTake)
	may(slotmove.Take)
	m.EndHold(0) // of a move away that has frozen nothing
	m.EndHold(take + 1)
	require.True(t, s.held)
	apply(away(slotmove.Cancel))
	require.True(t, s.held, "the end of the move away does not let clients go on that are held for take")
	m.EndHold(take)
	require.False(t, s.held)
	may()

	leave := away(slotmove.Leave)
	leave.Move.Number = 2
	apply(leave)
	hold(ForFreeze)
	m.EndHold(take)
	require.True(t, s.held, "the end of take does not let clients go on that are held for freeze")
	may(slotmove.Freeze, slotmove.Give)
	step := func(kind slotmove.Kind) *slotmove.Entry {
		e := away(kind)
		e.Move.Number = 2
		return e
	}
	apply(step(slotmove.Freeze))
	require.True(t, s.held)
	apply(step(slotmove.Thaw))
	require.False(t, s.held)

	freeze := hold(ForFreeze)
	apply(step(slotmove.Freeze))
	apply(step(slotmove.Give))
	require.True(t, s.held, "until clients are sent to the target")
	m.EndHold(freeze)
	require.False(t, s.held)
}
