package replication

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// TestQueuedWaitsOverPromotion: a queue and the time to confirm are not part of the data. After a promotion,
// an unconfirmed grant is an ordinary lock. It ends with its lease, unless its owner attaches and keeps it.
// Waits must be asked for again.
func TestQueuedWaitsOverPromotion(t *testing.T) {
	clock := server.NewManualClock(time.Now())
	master, replica := start(t, server.Options{EventLoops: true}), start(t, server.Options{Clock: clock})
	replica.follow(master.addr)
	for _, command := range []string{"LOCK granted a PX 100000", "LOCK kept a PX 100000", "LOCK held a PX 100000000"} {
		require.NotContains(t, master.do(command), "-", command)
	}
	for _, command := range []string{"LOCK granted program1:b WAIT 0 NOTIFY", "LOCK kept program1:c WAIT 0 NOTIFY", "LOCK held program1:d WAIT 0 NOTIFY"} {
		require.Equal(t, "+QUEUED", master.do(command))
	}
	require.Equal(t, "1", master.do("UNLOCK granted a"))
	require.Equal(t, "1", master.do("UNLOCK kept a"))
	inStep(t, master, replica)
	require.Contains(t, replica.do("LOCK held e WAIT 0 NOTIFY"), "-READONLY")
	require.Contains(t, replica.do("INFO locks"), "lock_waiters_notify:0")
	require.Equal(t, "+OK", replica.do("REPLICAOF NO ONE"))

	require.Equal(t, "2", replica.do("LOCK.ATTACH PREFIX program1"))
	require.Equal(t, "+QUEUED", replica.do("LOCK held program1:d WAIT 0 NOTIFY"))
	require.Equal(t, "2", replica.do("LOCK.ATTACH program1:c program1:b"))
	require.Equal(t, "2", replica.do("LOCK.DETACH PREFIX program1"))
	require.Equal(t, "1", replica.do("LOCK.DETACH program1:b"))
	clock.Advance(time.Minute)
	require.Equal(t, "0", replica.do("EXISTS granted"))
	require.Equal(t, "1", replica.do("HEXISTS kept program1:c"))
	require.Equal(t, "1", replica.do("UNLOCK held a"))
	token := strings.Trim(replica.do("HGET held $token"), `"`)
	require.Equal(t, "1", replica.do("LOCK.CONFIRM held program1:d "+token))
}
