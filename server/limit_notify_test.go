package server

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/wait"
)

// A server that becomes a replica ends a hundred thousand waits, and the grants that are not confirmed, one
// after the other. Others are served in between, and a wait that gets its turn before ends then.
func TestNotifyManyDemoted(t *testing.T) {
	m := newManyWaits(t)
	for i := range howManyWaits / 10 { // grants
		m.s.Feed(appendCommand(nil, "DEL", fmt.Sprintf("lock:%012d", howManyWaits-1-i)), &m.scratch, nil)
	}
	grants := m.Waits.Grants.Len()
	require.Equal(t, howManyWaits/10, grants)
	began := time.Now()
	m.LockIdle()
	m.Begin()
	m.demoted()
	m.End()
	m.Mu.Unlock()
	t.Logf("the demotion took %v", time.Since(began))
	count := func() int { return m.Waits.QueuedWaits + m.Waits.Grants.Len() }
	require.Equal(t, howManyWaits+1-wait.DueBudget, count(), "no more is done at once")
	ended, longest := m.dueInSlices(count)
	t.Logf("the longest slice took %v for the end of %d waits and grants", longest, ended)
	require.LessOrEqual(t, ended, wait.DueBudget)
	require.Zero(t, count())
	require.Zero(t, m.Waits.Queues.Len())
	require.Zero(t, m.s.Queued.Bytes)
}
