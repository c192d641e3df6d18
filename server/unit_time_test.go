package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// logClock is a log that moves a clock by 100 ms when a script logs something.
type logClock struct {
	slog.Handler
	clock *ManualClock
}

// Enabled implements slog.Handler.
func (l *logClock) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *logClock) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "a script says" {
		l.clock.Set(time.UnixMicro(l.clock.NowUS()).Add(100 * time.Millisecond))
	}
	return nil
}

// startOnLogClock runs a server on a clock that moves within units: see longUnit.
func startOnLogClock(t *testing.T) *instance {
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	log := slog.New(&logClock{slog.DiscardHandler, clock})
	return startWith(t, Options{Clock: clock, Log: log}, nil)
}

// longUnit runs calls in one unit. 100 ms pass before it ends.
func longUnit(c *testkit.Client, calls string) string {
	body := ""
	for call := range strings.SplitSeq(calls, "; ") {
		body += "redis.call('" + strings.Join(strings.Fields(call), "','") + "') "
	}
	return c.Do("EVAL", body+"redis.log(redis.LOG_WARNING, 'time passes')", "0").String()
}

// TestWaitersSeeTheEndOfTheUnit: waiters do not find keys of a unit that are past their deadline
// when it ends, and are served by the next unit.
func TestWaitersSeeTheEndOfTheUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ waits, unit, next, want string }{
		{"BLPOP l 0", "RPUSH l a; PEXPIRE l 50", "RPUSH l b", `["l" "b"]`},
		{"BLMPOP 0 1 l LEFT", "RPUSH l a; PEXPIRE l 50", "RPUSH l b", `["l" ["b"]]`},
		{"BLMOVE l m LEFT RIGHT 0", "RPUSH l a; PEXPIRE l 50", "RPUSH l b", `"b"`},
		{"BZPOPMIN z 0", "ZADD z 1 a; PEXPIRE z 50", "ZADD z 2 b", `["z" "b" "2"]`},
		{"XREAD BLOCK 0 STREAMS s 0", "XADD s 1-1 f a; PEXPIRE s 50", "XADD s 2-1 f b", `[["s" [["2-1" ["f" "b"]]]]]`},
		{"BLPOP l 0", "SELECT 1; RPUSH l a; PEXPIRE l 50; SELECT 0; SWAPDB 0 1", "RPUSH l b", `["l" "b"]`},
	} {
		srv := startOnLogClock(t)
		waits, other := client(t, srv), client(t, srv)
		waits.Send(strings.Fields(c.waits)...)
		awaitParked(t, srv, 1)
		require.Equal(t, "$nil", longUnit(other, c.unit), c.unit)
		require.Equal(t, 1, srv.parked(), "%s after %s", c.waits, c.unit)
		other.Do(strings.Fields(c.next)...)
		require.Equal(t, c.want, waits.Receive().String(), c.waits)
	}
}

// TestGrantsBeginAtTheEndOfTheUnit: a waiter's lease lasts for the requested duration from its grant,
// however long the unit took that released the lock. Leases that ended within the unit are over.
func TestGrantsBeginAtTheEndOfTheUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ held, waits, unit, key string }{
		{"LOCK k a PX 60000", "LOCK k b PX 50 WAIT 60000", "UNLOCK k a", "k"},
		{"LOCK k a PX 60000", "LOCK k b PX 50 WAIT 60000 SHARED", "UNLOCK k a", "k"},
		{"LOCK k a PX 60000", "MLOCK 2 k j b PX 50 WAIT 60000", "UNLOCK k a", "j"},
		{"LOCK k a PX 60000", "LOCK k b PX 50 WAIT 60000", "DEL k", "k"},
		{"LOCK k a PX 60000", "LOCK k b PX 50 WAIT 60000", "RENEW k a PX 50", "k"},
		{"SEM.ACQUIRE k a LIMIT 1 PX 60000", "SEM.ACQUIRE k b LIMIT 1 PX 50 WAIT 60000", "SEM.RELEASE k a", "k"},
		{"SEM.ACQUIRE k a LIMIT 1 PX 60000", "SEM.ACQUIRE k b LIMIT 1 PX 50 WAIT 60000", "SEM.RENEW k a PX 50", "k"},
		{"LOCK k a PX 60000", "LOCK k b PX 50 WAIT 60000 NOTIFY", "UNLOCK k a", "k"},
	} {
		srv := startOnLogClock(t)
		waits, other := client(t, srv), client(t, srv)
		waits.Hello(3)
		require.False(t, other.Do(strings.Fields(c.held)...).IsError(), c.held)
		waits.Send(strings.Fields(c.waits)...)
		eventually(t, func() bool { return srv.parked() == 1 }, "%s waits", c.waits)
		require.Equal(t, "$nil", longUnit(other, c.unit), c.unit)
		require.Zero(t, srv.parked(), "%s after %s", c.waits, c.unit)
		require.EqualValues(t, 50, other.Do("PTTL", c.key).Int, "%s after %s", c.waits, c.unit)
	}
}

// TestLimiterAfterALongUnit: a waiter of a limiter takes what has come back until the end of the unit.
func TestLimiterAfterALongUnit(t *testing.T) {
	t.Parallel()
	srv := startOnLogClock(t)
	waits, other := client(t, srv), client(t, srv)
	other.Do("LIMIT.TAKE", "r", "1", "1", "60")
	waits.Send("LIMIT.TAKE", "r", "1", "1", "60", "WAIT", "60000")
	awaitParked(t, srv, 1)
	require.Equal(t, "$nil", longUnit(other, "PEXPIRE r 60000"))
	require.Zero(t, srv.parked(), "it is served")
	require.False(t, waits.Receive().IsError())
}

// TestRenewedLocksSurviveALongUnit: a lock that the server renews is not lost to a waiter, because the unit
// that served the waiter kept the server from the renewal.
func TestRenewedLocksSurviveALongUnit(t *testing.T) {
	t.Parallel()
	srv := startOnLogClock(t)
	holder, waits, other := client(t, srv), client(t, srv), client(t, srv)
	require.Equal(t, "+OK", other.Do("CONFIG", "SET", "lock-watchdog-timeout", "90").String())
	require.False(t, holder.Do("LOCK", "k", "a").IsError())
	require.False(t, other.Do("LOCK", "j", "c", "PX", "60000").IsError())
	waits.Send("MLOCK", "2", "j", "k", "b", "WAIT", "60000")
	awaitParked(t, srv, 1)
	require.Equal(t, "$nil", longUnit(other, "UNLOCK j c"))
	require.Equal(t, 1, srv.parked(), "the holder is there and keeps the lock")
	require.EqualValues(t, 90, other.Do("PTTL", "k").Int)
	require.False(t, holder.Do("UNLOCK", "k", "a").IsError())
	require.False(t, waits.Receive().IsError())
}
