package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// startLimits runs a server on a clock that only the test moves, with a number of clients.
func startLimits(t *testing.T, clients int) (srv *instance, clock *ManualClock, all []*testkit.Client) {
	t.Helper()
	clock = NewManualClock(time.UnixMilli(saleStart))
	srv = startWith(t, Options{Clock: clock}, nil)
	for range clients {
		all = append(all, client(t, srv))
	}
	return srv, clock, all
}

// Waiters of a limiter are served first come, first served, each to the millisecond. A small cost does not
// overtake a large one at the head. A call that does not wait is refused meanwhile.
func TestLimitTakeWaits(t *testing.T) {
	t.Parallel()
	srv, clock, c := startLimits(t, 4)
	want(t, c[0], [2]string{"LIMIT.TAKE k 2 10 1000 COST 2", "[1 2 0 0 200]"})
	c[1].Send("LIMIT.TAKE", "k", "2", "10", "1000", "COST", "2", "WAIT", "0")
	awaitParked(t, srv, 1)
	c[2].Send("LIMIT.TAKE", "k", "2", "10", "1000", "WAIT", "5000")
	awaitParked(t, srv, 2)
	c[3].Send("LIMIT.TAKE", "k", "2", "10", "1000", "WAIT", "250")
	awaitParked(t, srv, 3)
	clock.Advance(199 * time.Millisecond)
	awaitParked(t, srv, 3)
	want(t, c[0], [2]string{"LIMIT.TAKE k 2 10 1000", "[0 2 1 1 1]"}, [2]string{"LIMIT.TAKE k 2 10 1000 COST 0", "[1 2 1 0 1]"})
	want(t, c[0], [2]string{"CL.THROTTLE k 1 10 1", "[1 2 1 1 1]"})
	clock.Advance(time.Millisecond)
	require.Equal(t, "[1 2 0 0 200]", c[1].Receive().String())
	clock.Advance(50 * time.Millisecond)
	require.Equal(t, "[0 2 0 50 150]", c[3].Receive().String(), "its time was up")
	clock.Advance(49 * time.Millisecond)
	awaitParked(t, srv, 1)
	clock.Advance(time.Millisecond)
	require.Equal(t, "[1 2 0 0 200]", c[2].Receive().String())
	checkParking(t, srv)
}

// A limiter that is removed, or replaced, lets the next waiter try at once.
func TestLimitTakeSeesTheKeyChange(t *testing.T) {
	t.Parallel()
	srv, _, c := startLimits(t, 2)
	for _, step := range [][2]string{{"DEL k", "[1 1 0 0 3600000]"}, {"FLUSHALL", "[1 1 0 0 3600000]"}, {"RENAME k other", "[1 1 0 0 3600000]"},
		{"SET k text", "-ERR the key does not hold the state of a limiter"}, {"RENAME list k", "-WRONGTYPE Operation against a key holding the wrong kind of value"}} {
		c[0].Do("RPUSH", "list", "x")
		c[0].Do("DEL", "k")
		want(t, c[0], [2]string{"LIMIT.TAKE k 1 1 3600000", "[1 1 0 0 3600000]"})
		c[1].Send("LIMIT.TAKE", "k", "1", "1", "3600000", "WAIT", "0")
		awaitParked(t, srv, 1)
		require.Equal(t, "+OK", strings.Replace(c[0].Do(strings.Fields(step[0])...).String(), "1", "+OK", 1), step[0])
		require.Equal(t, step[1], c[1].Receive().String(), step[0])
	}
	checkParking(t, srv)
}

// A waiter that goes leaves its place to the next one, and takes nothing.
func TestLimitTakeLeavesTheQueue(t *testing.T) {
	t.Parallel()
	srv, clock, c := startLimits(t, 4)
	id := c[3].Do("CLIENT", "ID").String()
	want(t, c[0], [2]string{"LIMIT.TAKE k 2 2 1000 COST 2", "[1 2 0 0 1000]"})
	c[1].Send("LIMIT.TAKE", "k", "2", "2", "1000", "COST", "2", "WAIT", "0")
	awaitParked(t, srv, 1)
	c[2].Send("LIMIT.TAKE", "k", "2", "2", "1000", "WAIT", "0")
	awaitParked(t, srv, 2)
	c[3].Send("LIMIT.TAKE", "k", "2", "2", "1000", "WAIT", "0")
	awaitParked(t, srv, 3)
	c[1].Close()
	awaitParked(t, srv, 2)
	clock.Advance(500 * time.Millisecond)
	require.Equal(t, "[1 2 0 0 1000]", c[2].Receive().String())
	require.Equal(t, "1", c[0].Do("CLIENT", "UNBLOCK", id, "ERROR").String())
	require.Equal(t, "-UNBLOCKED client unblocked via CLIENT UNBLOCK", c[3].Receive().String())
	checkParking(t, srv)
}

// In MULTI and in a script nothing waits.
func TestLimitTakeDoesNotWaitInUnits(t *testing.T) {
	t.Parallel()
	srv, _, c := startLimits(t, 1)
	want(t, c[0], [2]string{"LIMIT.TAKE k 1 1 1000", "[1 1 0 0 1000]"}, [2]string{"MULTI", "+OK"},
		[2]string{"LIMIT.TAKE k 1 1 1000 WAIT 0", "+QUEUED"}, [2]string{"LIMIT.TAKE new 1 1 1000 WAIT 0", "+QUEUED"},
		[2]string{"EXEC", "[[0 1 0 1000 1000] [1 1 0 0 1000]]"})
	require.Equal(t, "[0 1 0 1000 1000]",
		c[0].Do("EVAL", "return redis.call('LIMIT.TAKE', KEYS[1], 1, 1, 1000, 'WAIT', 0)", "1", "k").String())
	checkParking(t, srv)
}

// In test mode the clock is moved by a command.
func TestLimitTakeInTestMode(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, func(c *config.Config) { c.TestMode = true })
	c, waiter := client(t, srv), client(t, srv)
	want(t, c, [2]string{"TEST.CLOCK FREEZE 1000", "1000"}, [2]string{"LIMIT.TAKE k 1 1 60000", "[1 1 0 0 60000]"})
	waiter.Send("LIMIT.TAKE", "k", "1", "1", "60000", "WAIT", "100000")
	awaitParked(t, srv, 1)
	want(t, c, [2]string{"TEST.CLOCK ADVANCE 60000", "61000"})
	require.Equal(t, "[1 1 0 0 60000]", waiter.Receive().String())
	want(t, c, [2]string{"TEST.CLOCK ADVANCE 60001", "121001"}, [2]string{"EXISTS k", "0"})
}

// TestLimitTakeAboveTheBurst: a cost that could never be taken is an error, in whatever form it waits, and
// changes nothing. COST 0 is allowed and takes nothing, also where more was taken than another burst allows.
func TestLimitTakeAboveTheBurst(t *testing.T) {
	t.Parallel()
	srv, clock, c := startLimits(t, 1)
	const tooMuch = "-ERR COST is above the burst, it could never be taken"
	for _, form := range []string{"", " WAIT 0", " WAIT 100", " WAIT 0 NOTIFY a"} {
		want(t, c[0], [2]string{"LIMIT.TAKE k 5 10 1000 COST 6" + form, tooMuch})
	}
	want(t, c[0], [2]string{"EXISTS k", "0"}, [2]string{"LIMIT.TAKE k 10 10 1000 COST 10", "[1 10 0 0 1000]"})
	want(t, c[0], [2]string{"LIMIT.TAKE k 5 10 1000 COST 6", tooMuch}, [2]string{"LIMIT.TAKE k 10 10 1000 COST 0", "[1 10 0 0 1000]"})
	for range 2 {
		want(t, c[0], [2]string{"LIMIT.TAKE k 5 10 1000 COST 0", "[1 5 0 0 1000]"})
	}
	clock.Advance(500 * time.Millisecond)
	want(t, c[0], [2]string{"LIMIT.TAKE k 5 10 1000 COST 0", "[1 5 0 0 500]"})
	want(t, c[0], [2]string{"LIMIT.TAKE k 5 10 1000 COST 5", "[0 5 0 500 500]"}) // COST 0 has not begun to fill it
	clock.Advance(500 * time.Millisecond)
	want(t, c[0], [2]string{"LIMIT.TAKE k 5 10 1000 COST 5", "[1 5 0 0 500]"})
	checkParking(t, srv)
}

// TestLimitRefusalForWaitersIsTrue: a call that is refused because others wait changes nothing. Its
// figures are those of the limiter as it stays, also where more is in use than the burst of the call.
func TestLimitRefusalForWaitersIsTrue(t *testing.T) {
	t.Parallel()
	srv, clock, c := startLimits(t, 2)
	want(t, c[0], [2]string{"LIMIT.TAKE k 10 10 1000 COST 10", "[1 10 0 0 1000]"})
	c[1].Send("LIMIT.TAKE", "k", "10", "10", "1000", "WAIT", "300")
	awaitParked(t, srv, 1)
	want(t, c[0], [2]string{"LIMIT.TAKE k 5 10 1000 COST 2", "[0 5 0 700 1000]"}, [2]string{"LIMIT.TAKE k 20 10 1000 COST 2", "[0 20 10 1 1000]"})
	clock.Advance(100 * time.Millisecond)
	require.Equal(t, "[1 10 0 0 1000]", c[1].Receive().String())
	checkParking(t, srv)
}
