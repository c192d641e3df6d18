//go:build unix

package queued

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// holderOf returns the owner of a lock, or "" if the lock is free. Two owners fail the test.
func holderOf(t *testing.T, c *testkit.Client, key string) (owner string) {
	t.Helper()
	for i, field := range c.Do("HKEYS", key).Elems {
		if !strings.HasPrefix(field.Str, "$") {
			require.Empty(t, owner, "%s has two holders (%d)", key, i)
			owner = field.Str
		}
	}
	return owner
}

// TestStoppedClient: a process with locks and a wait is stopped (SIGSTOP). Its lease ends, and its grant
// passes on, to one holder at a time. When it continues it gets messages about that, and its commands are
// refused. The long form stops it for a minute.
func TestStoppedClient(t *testing.T) {
	t.Parallel()
	server := testkit.StartLockserver(t, "", "--save", "", "--lock-watchdog-timeout", "3000")
	op, next := server.Client(t), server.Client(t)
	next.Hello(3)
	require.Positive(t, op.Do("LOCK", "wanted", "holder", "PX", "3600000").Int)
	program, err := os.Executable()
	require.NoError(t, err)
	child := testkit.Start(t, testkit.Command{Program: program, Env: []string{stoppedVariable + "=" + server.Address()}})
	require.NoError(t, child.Pause())
	stoppedAt := time.Now()

	require.Equal(t, "+QUEUED", next.Do("LOCK", "fixed", "next", "PX", "3600000", "WAIT", "0", "NOTIFY", "ONCE").String())
	require.Equal(t, "+QUEUED", next.Do("LOCK", "wanted", "next", "PX", "3600000", "WAIT", "0", "NOTIFY", "ONCE").String())
	require.True(t, op.Do("LOCK", "renewed", "next").IsNull())
	require.EqualValues(t, 1, op.Do("UNLOCK", "wanted", "holder").Int)
	require.Equal(t, stoppedPrefix+"3", holderOf(t, op, "wanted"))
	for range 2 { // first the lease, then the time to confirm
		push := next.Receive()
		require.Equal(t, "lock-granted", push.Elems[0].Str, push.String())
		key := push.Elems[1].Str
		require.EqualValues(t, 1, op.Do("LOCK.CONFIRM", key, "next", strconv.FormatInt(push.Elems[2].Int, 10)).Int)
		require.Equal(t, "next", holderOf(t, op, key))
	}
	for minute := time.Duration(testkit.Steps(0, 60)) * time.Second; time.Since(stoppedAt) < minute; time.Sleep(50 * time.Millisecond) {
		for _, key := range []string{"fixed", "wanted"} {
			require.Equal(t, "next", holderOf(t, op, key))
		}
		require.Equal(t, stoppedPrefix+"2", holderOf(t, op, "renewed")) // the connection still lives
	}

	require.NoError(t, child.Continue())
	for _, line := range []string{"told lock-lost fixed expired, renewed 0", "told lock-granted wanted, confirmed 0, guarded -STALETOKEN",
		"told lock-refused wanted unconfirmed"} {
		require.Eventually(t, func() bool { return strings.Contains(child.Stdout.String(), line) }, patience, 5*time.Millisecond, "%s in:\n%s", line,
			child.Stdout.String())
	}
	require.Zero(t, op.Do("EXISTS", "stale").Int)
	require.Equal(t, "next", holderOf(t, op, "wanted"))
	require.Equal(t, "next", holderOf(t, op, "fixed"))
	child.Kill()
}
