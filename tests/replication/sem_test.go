package replication

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestSemaphoresOfAReplica: a replica has the holders of its master. It ends no lease by itself. When it
// leads, permits in use stay so, and come back at the end of their leases.
func TestSemaphoresOfAReplica(t *testing.T) {
	clock := server.NewManualClock(time.Now())
	master, replica := start(t, server.Options{EventLoops: true}), start(t, server.Options{Clock: clock})
	require.Contains(t, master.do("SEM.ACQUIRE s early LIMIT 5 PX 100000"), "17")
	replica.follow(master.addr)
	inStep(t, master, replica)
	for _, command := range []string{"SEM.ACQUIRE s a PERMITS 2 PX 100000", "SEM.ACQUIRE s b PX 300000", "SEM.ACQUIRE s a ONCE PX 200000", "SEM.RESIZE s 6"} {
		require.NotContains(t, master.do(command), "-", command)
	}
	require.Equal(t, "0", master.do("SEM.RELEASE s early"))
	inStep(t, master, replica)
	require.Contains(t, replica.do("SEM.INFO s"), `"limit" 6 "available" 3 "used" 3`)
	require.Contains(t, replica.do("SEM.ACQUIRE s c"), "-READONLY")
	stored := replica.do("DEBUG DIGEST")
	clock.Advance(250 * time.Second)
	require.Contains(t, replica.do("SEM.INFO s"), `"used" 1`, "a's lease is over")
	require.Equal(t, stored, replica.do("DEBUG DIGEST"), "only its master removes a")
	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))
	eventually(t, "a's lease ends", func() bool {
		clock.Advance(time.Millisecond)
		return replica.do("SEM.RENEW s a PX 1000") == "0"
	})
	require.Contains(t, replica.do("SEM.INFO s"), `"limit" 6 "available" 5 "used" 1`)
	require.Equal(t, "$nil", replica.do("SEM.ACQUIRE s c PERMITS 6 PX 1000"))
	require.NotContains(t, replica.do("SEM.ACQUIRE s c PERMITS 5 PX 1000"), "nil")
	clock.Advance(time.Second)
	require.Contains(t, replica.do("SEM.INFO s"), `"available" 5 "used" 1`)
	clock.Advance(100 * time.Second)
	require.Equal(t, "0", replica.do("EXISTS s"))
}
