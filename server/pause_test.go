package server

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

// requireSilence requires that no reply comes.
func requireSilence(t *testing.T, c *testkit.Client) {
	t.Helper()
	_, answered := c.ReceiveWithin(20 * time.Millisecond)
	require.False(t, answered)
}

// TestPause: commands that write, or all of them, wait for its end, with those behind them in their order.
func TestPause(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.Unix(1_700_000_000, 0))
	onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c, other := testkit.Dial(t, dial), testkit.Dial(t, dial)
		other.Do("SET", "k", "0")
		require.Equal(t, "+OK", c.Do("CLIENT", "PAUSE", "1000", "WRITE").String())
		require.Equal(t, "0", other.Do("GET", "k").Str)
		other.Send("INCR", "k")
		other.Send("GET", "k")
		requireSilence(t, other)
		require.Equal(t, "+OK", c.Do("CLIENT", "PAUSE", "10", "WRITE").String(), "not shorter")
		clock.Advance(999 * time.Millisecond)
		requireSilence(t, other)
		clock.Advance(time.Millisecond)
		require.Equal(t, int64(1), other.Receive().Int)
		require.Equal(t, "1", other.Receive().Str)

		require.Equal(t, "+OK", c.Do("CLIENT", "PAUSE", "1000000", "write").String())
		other.Do("MULTI")
		other.Do("GET", "k")
		require.Equal(t, `["1"]`, other.Do("EXEC").String())
		other.Send("PUBLISH", "c", "m")
		requireSilence(t, other)
		require.Equal(t, "+OK", c.Do("CLIENT", "UNPAUSE").String())
		require.Equal(t, int64(0), other.Receive().Int)
		require.Equal(t, int64(2), other.Do("INCR", "k").Int)

		require.Equal(t, "+OK", c.Do("CLIENT", "PAUSE", "50").String())
		c.Send("PING")
		other.Send("GET", "k")
		requireSilence(t, other)
		requireSilence(t, c)
		clock.Advance(50 * time.Millisecond)
		require.Equal(t, "2", other.Receive().Str)
		require.Equal(t, "PONG", c.Receive().Str)
		require.Equal(t, "+OK", c.Do("CLIENT", "PAUSE", "0").String())
		require.Equal(t, "PONG", c.Do("PING").Str)
		require.Equal(t, "-ERR CLIENT PAUSE mode must be WRITE or ALL", c.Do("CLIENT", "PAUSE", "x", "BAD").String())
		require.Equal(t, "-ERR timeout is negative", c.Do("CLIENT", "PAUSE", "-1").String())
	})
}

// TestPauseAndScripts: a script that says that it does not write goes on while
// writing is paused, as on Redis.
func TestPauseAndScripts(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	a, b := client(t, srv), client(t, srv)
	reads := "#!lua flags=no-writes\nreturn 7"
	sha := a.Do("SCRIPT", "LOAD", reads).Str
	require.Equal(t, `"counter"`, a.Do("FUNCTION", "LOAD", counterLibrary).String())
	require.Equal(t, "+OK", a.Do("CLIENT", "PAUSE", "100000", "WRITE").String())
	require.Equal(t, "7", a.Do("EVAL", reads, "0").String())
	require.Equal(t, "7", a.Do("EVALSHA", sha, "0").String())
	require.Equal(t, "7", a.Do("EVAL_RO", "return 7", "0").String())
	require.Equal(t, "[]", a.Do("FCALL", "peek", "0").String())
	b.Send("FCALL", "count", "0")
	a.Send("EVAL", "return 8", "0")
	requireSilence(t, a) // a script may write unless it says otherwise
	c := client(t, srv)
	require.Equal(t, "+OK", c.Do("CLIENT", "UNPAUSE").String())
	require.Equal(t, "8", a.Receive().String())
	require.Equal(t, "1", b.Receive().String())
}

// TestNothingEndsUnderPause: what is overdue is not found and not removed, no lease is renewed, and all of it
// goes on behind the pause.
func TestNothingEndsUnderPause(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, func(c *config.Config) { c.LockWatchdogTimeoutMS = 3000 })
	c, other := client(t, srv), client(t, srv)
	require.Equal(t, "+OK", c.Do("SET", "k", "v", "PX", "1000").String())
	require.Positive(t, c.Do("LOCK", "kept", "me").Int)
	require.Positive(t, c.Do("LOCK", "ends", "me", "PX", "1000").Int)
	other.Send("LOCK", "ends", "you", "WAIT", "60000")
	eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 1 }, "it waits")
	require.Equal(t, "+OK", c.Do("CLIENT", "PAUSE", "20000", "WRITE").String())
	clock.Advance(10 * time.Second)
	require.Equal(t, "$nil", c.Do("GET", "k").String())
	require.Equal(t, "3", c.Do("DBSIZE").String())
	clock.Advance(9 * time.Second)
	require.Equal(t, "3", c.Do("DBSIZE").String())
	clock.Advance(2 * time.Second)
	require.Positive(t, other.Receive().Int)
	require.Equal(t, "2", c.Do("DBSIZE").String())
	require.Equal(t, "1", c.Do("UNLOCK", "kept", "me").String())
}
