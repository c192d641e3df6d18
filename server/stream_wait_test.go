package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Clients that wait in XREADGROUP ... CLAIM for the same stream are each served when what they ask for is
// due, to the millisecond, in any order of arrival.
func TestClaimsAreServedWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	c, slow, hasty := client(t, srv), client(t, srv), client(t, srv)
	c.Do("XADD", "s", "1", "f", "v")
	c.Do("XGROUP", "CREATE", "s", "g", "0")
	c.Do("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
	slow.Send("XREADGROUP", "GROUP", "g", "slow", "BLOCK", "0", "CLAIM", "500", "STREAMS", "s", ">")
	awaitParked(t, srv, 1)
	hasty.Send("XREADGROUP", "GROUP", "g", "hasty", "BLOCK", "0", "CLAIM", "100", "STREAMS", "s", ">")
	awaitParked(t, srv, 2)
	clock.Advance(99 * time.Millisecond)
	awaitParked(t, srv, 2)
	clock.Advance(time.Millisecond)
	require.Equal(t, `[["s" [["1-0" ["f" "v"] 100 1]]]]`, hasty.Receive().String())
	clock.Advance(499 * time.Millisecond) // from the claim on
	awaitParked(t, srv, 1)
	clock.Advance(time.Millisecond)
	require.Equal(t, `[["s" [["1-0" ["f" "v"] 500 2]]]]`, slow.Receive().String())

	// This entry is pending by the time of another consumer's wait, because it was delivered without the
	// waiter's knowledge.
	slow.Send("XREADGROUP", "GROUP", "g", "slow", "BLOCK", "0", "CLAIM", "300", "STREAMS", "s", ">")
	awaitParked(t, srv, 1)
	require.Equal(t, "1", c.Do("XACK", "s", "g", "1-0").String())
	clock.Advance(250 * time.Millisecond)
	require.Equal(t, `["1-0"]`, c.Do("XCLAIM", "s", "g", "a", "0", "1-0", "FORCE", "JUSTID").String())
	clock.Advance(299 * time.Millisecond)
	awaitParked(t, srv, 1)
	clock.Advance(time.Millisecond)
	require.Equal(t, `[["s" [["1-0" ["f" "v"] 300 1]]]]`, slow.Receive().String())
	checkParking(t, srv)
}
