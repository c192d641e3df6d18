package raft

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTakeBackBeforeTheFirstCommit: a leader that is deposed before anything of its own history is committed
// takes back what it has done, and builds nothing anew.
func TestTakeBackBeforeTheFirstCommit(t *testing.T) {
	m, s := leads(&slowTransfer{})
	m.applied = place{id: "before", offset: 1000}
	m.offset, m.db = 1000, 3
	m.unproposed = unproposed{after: m.applied}
	m.beginUndo()
	m.offset += 50
	m.bytes = make([]byte, 50)
	m.depose("another member leads")
	require.Equal(t, following, m.state)
	require.Equal(t, []bool{false}, s.undone)
	require.EqualValues(t, 1, m.counts.undone)
	require.Zero(t, m.counts.rebuilds)
	require.EqualValues(t, 1000, m.offset)
	require.Equal(t, 3, m.db)
}

// TestWritesWaitWhileTooLittleIsCommitted: when the last period is full and the one before is not committed,
// writes wait. They go on when it is, unless a snapshot holds them, too.
func TestWritesWaitWhileTooLittleIsCommitted(t *testing.T) {
	for _, size := range [][2]int{{mostPeriodChanges, 0}, {0, mostPeriodFreed}} {
		m, s := leads(&slowTransfer{})
		a := openedMember{m, m.run}
		commit := func() {
			e := entry{after: m.applied, id: m.id, bytes: make([]byte, 100)}
			require.NoError(t, a.Apply(1, e.appendTo(nil), false))
		}
		m.beginUndo()
		s.changes, s.freed = size[0]-1, size[1]-1
		m.offset = 100
		m.EndSlice()
		require.Zero(t, s.advanced, "it is not full")
		s.changes, s.freed = size[0], size[1]
		m.EndSlice()
		require.False(t, s.held, "nothing is before the last period")
		require.Equal(t, 1, s.advanced)
		m.offset = 200
		m.EndSlice()
		require.True(t, s.held)
		require.Equal(t, 1, s.advanced)
		require.ErrorContains(t, transfer(m, nil), "until more is committed")

		s.Locked(m.beginSnapshot)
		commit()
		require.True(t, s.held, "the snapshot holds them")
		require.Equal(t, 2, s.advanced)
		s.Locked(func() { m.snapping = false; m.release() })
		require.False(t, s.held)
		require.False(t, m.undoing.full)

		m.EndSlice()
		require.True(t, s.held)
		commit()
		require.False(t, s.held)
		require.Equal(t, 3, s.advanced)
		m.EndSlice()
		require.Equal(t, 4, s.advanced)

		m.offset = 300
		m.EndSlice()
		require.Equal(t, 5, s.advanced)
		m.EndSlice()
		require.True(t, s.held)
		m.depose("another member leads")
		require.False(t, s.held)
		require.False(t, m.undoing.full)
	}
}
