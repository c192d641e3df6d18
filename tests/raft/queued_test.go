//go:build raft

package raft

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// TestQueuedWaitsWhenTheLeaderChanges: a leader that loses its lead ends its waits with NOTIFY, and tells the
// connection that asked. It closes attached connections, because they must attach to the new leader. There
// the owner asks again, and gets the lock.
func TestQueuedWaitsWhenTheLeaderChanges(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, seenAs(topology.Cluster))
	leader := g.leader()
	eventually(t, "the leader knows that it leads", func() bool { return leader.ask("LOCK", "door", "alice", "PX", "600000", "ONCE").Kind == ':' })
	connect := func(m *member) *testkit.Client {
		c := m.dial()
		t.Cleanup(c.Close)
		c.Hello(3)
		return c
	}
	asks, attached := connect(leader), connect(leader)
	require.Equal(t, "0", attached.Do("LOCK.ATTACH", "PREFIX", "program1").String())
	require.Equal(t, "+QUEUED", asks.Do("LOCK", "door", "bob", "PX", "600000", "WAIT", "0", "NOTIFY").String())
	require.Equal(t, "+QUEUED", attached.Do("LOCK", "door", "program1:carol", "PX", "600000", "WAIT", "0", "NOTIFY").String())
	require.Equal(t, "+OK", leader.ask("RAFT", "TRANSFER").String())

	require.Equal(t, `>["lock-refused" "door" "failover" "bob"]`, asks.Receive().String())
	require.Equal(t, "+PONG", asks.Do("PING").String())
	for {
		v, err := attached.Next()
		if err != nil {
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is not closed")
			break
		}
		require.Equal(t, `>["lock-refused" "door" "failover" "program1:carol"]`, v.String())
	}

	next := g.leader(g.others(leader)...)
	again := connect(next)
	eventually(t, "the new leader queues it", func() bool {
		return again.Do("LOCK", "door", "program1:carol", "PX", "600000", "WAIT", "0", "NOTIFY").String() == "+QUEUED"
	})
	require.EqualValues(t, 1, again.Do("UNLOCK", "door", "alice").Int)
	push := again.Receive()
	require.True(t, strings.HasPrefix(push.String(), `>["lock-granted" "door" `), push.String())
	require.EqualValues(t, 1, again.Do("LOCK.CONFIRM", "door", "program1:carol", strconv.FormatInt(push.Elems[2].Int, 10)).Int)
}
