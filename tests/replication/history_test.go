package replication

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestHistoryAfterAPromotion: the history of locks is not replicated. Both servers say since when they know
// what happened, and why not from before.
func TestHistoryAfterAPromotion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		master, replica := start(t, o), start(t, o)
		replica.follow(master.addr)
		require.NotContains(t, master.do("LOCK door alice PX 600000"), "-")
		inStep(t, master, replica)
		require.Contains(t, master.do("LOCK.HISTORY KEY door"), "granted")
		since := map[*node]int64{master: knownSince(t, master), replica: knownSince(t, replica)}
		latest := max(since[master], since[replica])
		eventually(t, "the millisecond is over", func() bool { return time.Now().UnixMilli() > latest })
		require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
		master.follow(replica.addr)
		for _, n := range []*node{replica, master} {
			history := n.do("LOCK.HISTORY KEY door")
			require.Contains(t, history, `"reason" "failover"`)
			require.Contains(t, history, `"events" []`, "nothing is made up about what was before")
			require.Greater(t, knownSince(t, n), since[n])
		}
		require.Equal(t, "1", replica.do("UNLOCK door alice"))
		require.Contains(t, replica.do("LOCK.HISTORY KEY door"), `"event" "released"`)
	})
}

// knownSince returns the time since when a server knows the history of locks, in milliseconds since 1970.
func knownSince(t *testing.T, n *node) int64 {
	t.Helper()
	v := n.Client.Do("LOCK.HISTORY")
	require.Equal(t, "known-since", v.Elems[0].Str)
	return v.Elems[1].Int
}
