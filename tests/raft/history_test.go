package raft

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHistoryOfANewLeader: the history of locks is in the memory of one member. The next leader says since
// when it has known what happened, and why it knows nothing from before.
func TestHistoryOfANewLeader(t *testing.T) {
	t.Parallel()
	g := newSteady(t, 3, nil)
	old := g.leader()
	require.Positive(t, old.ask("LOCK", "door", "alice", "PX", "600000").Int)
	require.Contains(t, old.ask("LOCK.HISTORY", "KEY", "door").String(), "granted")
	g.same()
	since, latest := map[*member]int64{}, int64(0)
	for _, m := range g.all {
		since[m] = fields(m.ask("LOCK.HISTORY"))["known-since"].Int
		latest = max(latest, since[m])
	}
	eventually(t, "the millisecond is over", func() bool { return time.Now().UnixMilli() > latest })
	require.Equal(t, "OK", old.ask("RAFT", "TRANSFER").Str)
	next := g.leader(g.others(old)...)
	history := fields(next.ask("LOCK.HISTORY", "KEY", "door"))
	require.Equal(t, "failover", history["reason"].Str)
	require.Greater(t, history["known-since"].Int, since[next])
	require.Empty(t, history["events"].Elems, "nothing is made up about what was before")
	require.EqualValues(t, 1, next.ask("UNLOCK", "door", "alice").Int)
	events := fields(next.ask("LOCK.HISTORY", "KEY", "door"))["events"].Elems
	require.Len(t, events, 1)
	require.Equal(t, "released", fields(events[0])["event"].Str)
}
