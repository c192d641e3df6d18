package replication

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestPrioritiesOverPromotion: a queue is not part of the data. Owners that ask again after a promotion, in
// any order, are granted by their priorities, as they would have been before.
func TestPrioritiesOverPromotion(t *testing.T) {
	kinds := []struct{ ask, release string }{ // %s is the owner
		{"LOCK door %s PX 600000", "UNLOCK door %s"},
		{"MLOCK 2 left right %s PX 600000", "MUNLOCK 2 left right %s"},
		{"SEM.ACQUIRE room %s LIMIT 1 PX 600000", "SEM.RELEASE room %s"},
	}
	master, replica := start(t, server.Options{EventLoops: true}), start(t, server.Options{})
	replica.follow(master.addr)
	levels := map[string]int{"nightly": 1, "urgent": 9, "plain": 5}
	wait := func(m *node, ask, owner string) string {
		return m.do(fmt.Sprintf(ask+" WAIT 0 PRIORITY %d NOTIFY", owner, levels[owner]))
	}
	for _, k := range kinds {
		require.NotContains(t, master.do(fmt.Sprintf(k.ask, "first")), "-")
		for _, owner := range []string{"nightly", "plain", "urgent"} {
			require.Equal(t, "+QUEUED", wait(master, k.ask, owner), k.ask)
		}
	}
	inStep(t, master, replica)
	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
	for _, k := range kinds {
		for _, owner := range []string{"plain", "nightly", "urgent"} {
			require.Equal(t, "+QUEUED", wait(replica, k.ask, owner), k.ask)
		}
		holder := "first"
		for _, next := range []string{"urgent", "plain", "nightly"} {
			require.NotContains(t, replica.do(fmt.Sprintf(k.release, holder)), "-", k.release)
			require.NotEqual(t, "+QUEUED", wait(replica, k.ask, next), "%s: %s is next", k.ask, next)
			holder = next
		}
	}
}
