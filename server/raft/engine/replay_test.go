package engine

import (
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// asking is a machine that asks the engine for its state while it is given an entry. A server does that for
// INFO, under the lock that the entry needs.
type asking struct {
	raft.Machine
	ask func() bool
}

// Apply implements raft.Machine.
func (a asking) Apply(uint64, []byte, bool) error {
	a.ask()
	return nil
}

// TestStateIsKnownWhileAnEntryIsApplied: what Status reads of the machine waits for no entry.
func TestStateIsKnownWhileAnEntryIsApplied(t *testing.T) {
	a := &asking{}
	m := newFSM(a)
	m.damage = func() error { return nil }
	asked := false
	a.ask = func() bool {
		asked = true
		return m.replaying()
	}
	require.Nil(t, m.Apply(&hraft.Log{Index: 1}))
	require.True(t, asked)
}
