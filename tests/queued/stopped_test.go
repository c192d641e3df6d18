package queued

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
)

// stoppedVariable makes a process of this test's binary the client that is stopped. It has the address of the
// server.
const stoppedVariable = "LOCKSERVER_STOPPED_CLIENT"

// The names of the stopped client's owners begin so.
const stoppedPrefix = "stopped-client:"

// stoppedClient is that process. It has a lock with a lease of its own, and one that the server renews. It
// waits for a third, and confirms when that is granted. It prints all that it hears.
func stoppedClient(addr string) int {
	pushes := make(chan resp.Value, 64)
	dial := func() (net.Conn, error) { return net.Dial("tcp", addr) }
	c, err := openHearing(dial, func(_ *conn, v resp.Value) { pushes <- v }, false)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ask := func(words ...string) resp.Value {
		v, err := c.call(words...)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return v
	}
	ask("LOCK.ATTACH", "PREFIX", stoppedPrefix)
	fixed := ask("LOCK", "fixed", stoppedPrefix+"1", "PX", "2000").Int
	ask("LOCK", "renewed", stoppedPrefix+"2")
	ask("LOCK", "wanted", stoppedPrefix+"3", "WAIT", "0", "NOTIFY")
	fmt.Printf("fixed %d\nready %s\n", fixed, addr)
	for v := range pushes {
		word, key, owner := v.Elems[0].Str, v.Elems[1].Str, v.Elems[len(v.Elems)-1].Str
		switch word {
		case "lock-granted":
			token := strconv.FormatInt(v.Elems[2].Int, 10)
			confirmed := ask("LOCK.CONFIRM", key, owner, token).Int
			guarded, _, _ := strings.Cut(ask("GUARD", key, token, "INCR", "stale").String(), " ")
			fmt.Printf("told %s %s, confirmed %d, guarded %s\n", word, key, confirmed, guarded)
		case "lock-lost":
			fmt.Printf("told %s %s %s, renewed %s\n", word, key, v.Elems[3].Str, ask("RENEW", key, owner, "PX", "2000"))
		default:
			fmt.Printf("told %s %s %s\n", word, key, v.Elems[2].Str)
		}
	}
	return 0
}

// holderOf returns the owner of a lock; empty: it is free. Two owners fail the test.
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

// TestStoppedClient: a process with locks and a wait is stopped (SIGSTOP). Its lease ends, and what it is
// granted passes on, to one holder at a time. When it goes on it hears of that, and what it does is refused.
// The long form stops it for a minute.
func TestStoppedClient(t *testing.T) {
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
	for range 2 { // the lease, and the time to confirm
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
		require.Equal(t, stoppedPrefix+"2", holderOf(t, op, "renewed")) // its connection lives
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
