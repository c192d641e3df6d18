//go:build raft

package raft

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// TestPrioritiesWhenTheLeaderChanges: a leader that leads no more ends its waits. The owners ask the new
// leader again, in any order, and are granted by their priorities. Calls that wait for a lock, for several
// locks and for a permit do so.
func TestPrioritiesWhenTheLeaderChanges(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, seenAs(topology.Cluster))
	leader := g.leader()
	kinds := []struct{ ask, key, release string }{
		{"LOCK door OWNER PX 600000", "door", "UNLOCK door OWNER"},
		{"MLOCK 2 {left}1 {left}2 OWNER PX 600000", "{left}1", "MUNLOCK 2 {left}1 {left}2 OWNER"},
		{"SEM.ACQUIRE room OWNER LIMIT 1 PX 600000", "room", "SEM.RELEASE room OWNER"},
	}
	levels := map[string]int{"nightly": 1, "urgent": 9, "plain": 5}
	words := func(command, owner string) []string {
		return strings.Fields(strings.ReplaceAll(command, "OWNER", owner))
	}
	wait := func(c *testkit.Client, ask, owner string) string {
		return c.Do(append(words(ask, owner), "WAIT", "0", "PRIORITY", strconv.Itoa(levels[owner]), "NOTIFY")...).String()
	}
	connect := func(m *member) *testkit.Client {
		c := m.dial()
		t.Cleanup(c.Close)
		c.Hello(3)
		return c
	}
	asks := connect(leader)
	for _, k := range kinds {
		eventually(t, "the leader knows that it leads", func() bool { return !leader.ask(append(words(k.ask, "first"), "ONCE")...).IsError() })
		for _, owner := range []string{"nightly", "plain", "urgent"} {
			require.Equal(t, "+QUEUED", wait(asks, k.ask, owner))
		}
	}
	require.Equal(t, "+OK", leader.ask("RAFT", "TRANSFER").String())
	refused := map[string]int{}
	for range len(kinds) * len(levels) {
		push := asks.Receive()
		require.Contains(t, push.String(), `"lock-refused"`)
		require.Contains(t, push.String(), `"failover"`)
		refused[push.Elems[3].Str]++
	}
	require.Equal(t, map[string]int{"nightly": 3, "plain": 3, "urgent": 3}, refused)

	next := g.leader(g.others(leader)...)
	again := connect(next)
	for _, k := range kinds {
		for _, owner := range []string{"plain", "nightly", "urgent"} {
			eventually(t, "the new leader queues it", func() bool { return wait(again, k.ask, owner) == "+QUEUED" })
		}
		holder := "first"
		for _, owner := range []string{"urgent", "plain", "nightly"} {
			require.False(t, next.ask(words(k.release, holder)...).IsError())
			push := again.Receive()
			require.Contains(t, push.String(), `"lock-granted"`)
			require.Equal(t, owner, push.Elems[3].Str, k.key)
			holder = owner
		}
	}
}
