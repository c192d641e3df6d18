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
