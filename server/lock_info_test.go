package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// entries reads a map, of either version of the protocol.
func entries(t *testing.T, v resp.Value) map[string]resp.Value {
	t.Helper()
	return testkit.Entries(t, v)
}

func lockInfoOf(t *testing.T, c *testkit.Client, key string) map[string]resp.Value {
	t.Helper()
	return entries(t, c.Do("LOCK.INFO", key))
}

func TestLockInfo(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		start := clock.NowUS() / 1000
		asks := testkit.Dial(t, dial)
		asks.Do("HELLO", "3")
		require.True(t, asks.Do("LOCK.INFO", "k").IsNull())
		// A waiter for the key that waits for no lock is not among the waiters for the lock.
		testkit.Dial(t, dial).Send("BLPOP", "k", "0")
		awaitParked(t, srv, 1)
		a := testkit.Dial(t, dial)
		a.Do("CLIENT", "SETNAME", "worker")
		id := a.Do("CLIENT", "ID").Int
		token := a.Do("LOCK", "k", "a").Int
		clock.Advance(time.Second)
		a.Do("LOCK", "k", "a")

		i := lockInfoOf(t, asks, "k")
		require.Len(t, i, 9)
		require.Empty(t, i["attached"].Elems)
		require.Equal(t, "a", i["owner"].Str)
		require.EqualValues(t, 2, i["holds"].Int)
		require.Equal(t, token, i["token"].Int)
		require.EqualValues(t, 30_000, i["ttl"].Int)
		require.Equal(t, "#t", i["watchdog"].String())
		require.Equal(t, start, i["held-since"].Int)
		client := entries(t, i["client"])
		require.Equal(t, id, client["id"].Int)
		require.Equal(t, "worker", client["name"].Str)
		list := a.Do("CLIENT", "INFO").Str
		require.Contains(t, list, " addr="+client["address"].Str+" ")
		require.EqualValues(t, 1, a.Do("LOCK.ATTACH", "a").Int)
		require.EqualValues(t, 1, asks.Do("LOCK.ATTACH", "a", "b").Int)
		attached := lockInfoOf(t, asks, "k")["attached"].Elems
		require.Len(t, attached, 2)
		require.Equal(t, client, entries(t, attached[0]))
		require.EqualValues(t, 1, asks.Do("LOCK.DETACH", "a", "b").Int)
		require.Len(t, lockInfoOf(t, asks, "k")["attached"].Elems, 1)
		require.Empty(t, i["waiters"].Elems)

		// These are the waiters, in order.
		b, c := testkit.Dial(t, dial), testkit.Dial(t, dial)
		b.Send("LOCK", "k", "b", "WAIT", "0")
		eventually(t, func() bool { return srv.waits("b") }, "b should wait")
		clock.Advance(time.Second)
		c.Send("MLOCK", "2", "j", "k", "c", "WAIT", "5000")
		eventually(t, func() bool { return srv.waits("c") }, "c should wait")
		waiters := lockInfoOf(t, asks, "k")["waiters"].Elems
		require.Len(t, waiters, 2)
		first, second := entries(t, waiters[0]), entries(t, waiters[1])
		require.Equal(t, "b", first["owner"].Str)
		require.Equal(t, start+1000, first["waiting-since"].Int)
		require.True(t, first["deadline"].IsNull())
		require.Positive(t, entries(t, first["client"])["id"].Int)
		require.Equal(t, "c", second["owner"].Str)
		require.Equal(t, start+2000, second["waiting-since"].Int)
		require.Equal(t, start+7000, second["deadline"].Int)
		require.True(t, asks.Do("LOCK.INFO", "j").IsNull(), "a lock that is only waited for is not held")

		// The holder goes; its lease is known and still runs.
		before := srv.connected()
		a.Close()
		eventually(t, func() bool { return srv.connected() < before }, "a goes")
		testkit.Dial(t, dial).Do("PING")
		i = lockInfoOf(t, asks, "k")
		require.Equal(t, "a", i["owner"].Str)
		require.Equal(t, "#f", i["watchdog"].String())
		require.True(t, i["client"].IsNull())
		require.Equal(t, start, i["held-since"].Int)
	})
}

// waits reports whether an owner waits for something.
func (srv *instance) waits(owner string) bool {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	return srv.executor.Waits.Queues.Owner([]byte(owner)) != nil
}

// TestLockWaiters: clients that wait for other things are no waiters of locks.
func TestLockWaiters(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	asks := client(t, srv)
	waiters := func(locks, all int) {
		t.Helper()
		awaitParked(t, srv, all)
		require.EqualValues(t, locks, infoNumber(t, asks, "lock_waiters"))
		require.EqualValues(t, all, infoNumber(t, asks, "blocked_clients"))
	}
	asks.Do("LOCK", "k", "a")
	client(t, srv).Send("BLPOP", "list", "0")
	client(t, srv).Send("WAIT", "1", "0")
	client(t, srv).Send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	waiters(0, 3)
	for i, args := range [][]string{{"LOCK", "k", "b", "WAIT", "0"}, {"LOCK", "k", "b", "WAIT", "0"}, {"MLOCK", "2", "k", "l", "c", "WAIT", "0"}} {
		client(t, srv).Send(args...)
		waiters(i+1, i+4)
	}
	asks.Do("UNLOCK", "k", "a")
	waiters(1, 4) // b has it twice
	asks.Do("LOCK.FORCE", "k")
	waiters(0, 3)
	asks.Do("LOCK", "m", "d")
	client(t, srv).Send("LOCK", "l", "d", "WAIT", "0") // which c holds
	waiters(1, 4)
	require.Contains(t, asks.Do("LOCK", "m", "c", "WAIT", "0").String(), "-DEADLOCK")
	waiters(1, 4)
}

// TestHeldSinceOfAToken: what the lock's record does not have after RENAME or a restart, its token has.
func TestHeldSinceOfAToken(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	a := client(t, srv)
	a.Do("HELLO", "3")
	a.Do("LOCK", "k", "a", "PX", "60000")
	clock.Advance(time.Second)
	require.Equal(t, "OK", a.Do("RENAME", "k", "n").Str)
	i := lockInfoOf(t, a, "n")
	require.True(t, i["client"].IsNull(), "the record is gone")
	require.EqualValues(t, 1_750_000_000_000, i["held-since"].Int)
}

func TestLockInfoOfALease(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b := client(t, srv), client(t, srv)
	a.Do("LOCK", "k", "a", "PX", "5000")
	clock.Advance(time.Second)
	i := lockInfoOf(t, b, "k")
	require.EqualValues(t, 0, i["watchdog"].Int)
	require.EqualValues(t, 4000, i["ttl"].Int)
	require.Equal(t, a.Do("CLIENT", "ID").Int, entries(t, i["client"])["id"].Int)
	b.Do("PERSIST", "k")
	i = lockInfoOf(t, b, "k")
	require.EqualValues(t, -1, i["ttl"].Int)
	require.Equal(t, "a", i["owner"].Str)

	// Redisson's scripts took this lock: the fields that only native commands set are null.
	b.Do("HSET", "r", "u:1", "3")
	b.Do("PEXPIRE", "r", "700")
	require.Equal(t, `["owner" "u:1" "holds" 3 "token" $nil "ttl" 700 "watchdog" 0 "client" $nil "held-since" $nil "attached" [] "waiters" []]`,
		b.Do("LOCK.INFO", "r").String())
	b.Do("HSET", "m", "mode", "dark", "u:1", "1")
	require.True(t, b.Do("LOCK.INFO", "m").IsError())
	b.Do("SET", "s", "v")
	require.True(t, b.Do("LOCK.INFO", "s").IsError())
}

// Locks are listed, and their tokens are exceeded, after a restart, even if the file
// that reserves tokens is lost.
func TestTokensOfLoadedLocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	open := func() *instance {
		srv, err := newInstance(Options{Clock: clock, Directives: inDir(dir).Directives()})
		require.NoError(t, err)
		require.NoError(t, srv.Start())
		return srv
	}
	srv := open()
	a := client(t, srv)
	tokens := a.Do("MLOCK", "3", "x", "y", "z", "a", "EX", "3600").Elems
	a.Do("HSET", "h", "f", "v")
	a.Do("HSET", "r", "u:1", "1")
	require.Equal(t, "+OK", a.Do("SAVE").String())
	require.NoError(t, srv.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, tokenFile)))
	clock.Set(time.UnixMilli(1_749_999_000_000)) // set back
	srv = open()
	defer srv.Close()
	a = client(t, srv)
	var listed []string
	for _, l := range a.Do("LOCK.LIST").Elems {
		listed = append(listed, entries(t, l)["key"].Str)
	}
	require.ElementsMatch(t, []string{"x", "y", "z"}, listed)
	i := lockInfoOf(t, a, "y")
	require.Equal(t, tokens[1].Int, i["token"].Int)
	require.True(t, i["client"].IsNull())
	require.True(t, i["held-since"].IsNull())
	require.Greater(t, a.Do("LOCK", "new", "b").Int, tokens[2].Int)
}

// The server's checks apply to what GUARD runs, and both commands are counted.
func TestGuardRunsAsIfSentAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o755))
	srv := start(t, Options{Directives: saving(dir).Directives()})
	a := client(t, srv)
	token := fmt.Sprint(a.Do("LOCK", "k", "a").Int)
	calls := func(name string) int64 {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		return srv.executor.Stats.Of(srv.executor.Table.LookupFull([]byte(name))).Calls
	}
	require.Equal(t, "+OK", a.Do("GUARD", "k", token, "SET", "x", "1").String())
	require.True(t, a.Do("GUARD", "k", "1", "SET", "x", "1").IsError())
	require.EqualValues(t, 2, calls("guard"))
	require.EqualValues(t, 1, calls("set"))
	require.Contains(t, a.Do("CLIENT", "INFO").Str, " cmd=client|info ")

	require.NoError(t, os.RemoveAll(dir))
	require.Equal(t, "+Background saving started", a.Do("BGSAVE").String())
	awaitSaved(t, srv) // it has failed: writes are refused until one succeeds
	require.True(t, strings.HasPrefix(a.Do("GUARD", "k", token, "SET", "x", "2").Str, "MISCONF "))
	require.Equal(t, "1", a.Do("GUARD", "k", token, "GET", "x").Str)
}

// A panic under GUARD is one of the command that it runs.
func TestGuardOfAPanic(t *testing.T) {
	t.Parallel()
	srv := startWithRows(t, Options{}, panicRows())
	a := client(t, srv)
	token := fmt.Sprint(a.Do("LOCK", "k", "a").Int)
	require.Equal(t, "-ERR internal error, the server's log tells more", a.Do("GUARD", "k", token, "READBOOM", "x").String())
	require.Equal(t, "+OK", a.Do("GUARD", "k", token, "SET", "x", "1").String())
	a.Send("GUARD", "k", token, "WRITEBOOM", "x")
	<-srv.Done()
	require.Equal(t, 1, srv.ExitCode())
}

func TestLockInfoShowsSomeOfManyWaiters(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	a := testkit.Dial(t, srv.Dial)
	a.Do("LOCK", "k", "a")
	for i := range 5 {
		testkit.Dial(t, srv.Dial).Send("LOCK", "k", fmt.Sprintf("w%d", i), "WAIT", "0")
		eventually(t, func() bool { return entries(t, a.Do("LOCK.INFO", "k", "COUNT", "1"))["waiting"].Int == int64(i+1) }, "%d", i)
	}
	i := entries(t, a.Do("LOCK.INFO", "k", "COUNT", "2"))
	require.EqualValues(t, 5, i["waiting"].Int)
	require.Len(t, i["waiters"].Elems, 2)
	require.Equal(t, "w1", entries(t, i["waiters"].Elems[1])["owner"].Str)
	require.Len(t, lockInfoOf(t, a, "k")["waiters"].Elems, 5)
	require.True(t, a.Do("LOCK.INFO", "k", "COUNT", "0").IsError())
}

func TestWaitersOfAllLocks(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	a := testkit.Dial(t, srv.Dial)
	a.Do("LOCK", "k1", "a")
	a.Do("LOCK", "k2", "b")
	a.Do("ACL", "SETUSER", "half", "on", "nopass", "+@all", "~k1")
	waits := func(call ...string) *testkit.Client {
		c := testkit.Dial(t, srv.Dial)
		before := len(a.Do("LOCK.WAITERS").Elems)
		c.Send(call...)
		eventually(t, func() bool { return len(a.Do("LOCK.WAITERS").Elems) == before+1 }, "%v", call)
		return c
	}
	waits("LOCK", "k1", "x", "WAIT", "0")
	middle := waits("MLOCK", "2", "k2", "free", "y", "WAIT", "60000")
	waits("LOCK", "k1", "z", "WAIT", "0")
	owners := func(list resp.Value) (names []string) {
		for _, e := range list.Elems {
			names = append(names, entries(t, e)["owner"].Str)
		}
		return names
	}
	require.Equal(t, []string{"x", "y", "z"}, owners(a.Do("LOCK.WAITERS")))
	require.Equal(t, []string{"x", "y"}, owners(a.Do("LOCK.WAITERS", "COUNT", "2")))
	require.Equal(t, []string{"y"}, owners(a.Do("LOCK.WAITERS", "OWNER", "y", "COUNT", "5")))
	require.Empty(t, a.Do("LOCK.WAITERS", "OWNER", "nobody").Elems)
	y := entries(t, a.Do("LOCK.WAITERS").Elems[1])
	require.Equal(t, `[["k2" "b"] ["free" $nil]]`, y["locks"].String())
	require.Positive(t, y["deadline"].Int)

	half := testkit.Dial(t, srv.Dial)
	half.Do("AUTH", "half", "any")
	require.Equal(t, []string{"x", "z"}, owners(half.Do("LOCK.WAITERS")), "a waiter for what one may not read is not shown")
	half.Do("SELECT", "1")
	require.Empty(t, half.Do("LOCK.WAITERS").Elems)

	middle.Close()
	eventually(t, func() bool { return len(a.Do("LOCK.WAITERS").Elems) == 2 }, "it has left")
	require.Equal(t, []string{"x", "z"}, owners(a.Do("LOCK.WAITERS")))
	a.Do("UNLOCK", "k1", "a")
	require.Equal(t, []string{"z"}, owners(a.Do("LOCK.WAITERS")))
	a.Do("LOCK.FORCE", "k1")
	require.Empty(t, a.Do("LOCK.WAITERS").Elems)
	waits("LOCK", "k1", "last", "WAIT", "0")
}

func TestLockDeadlocks(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	a, b := testkit.Dial(t, srv.Dial), testkit.Dial(t, srv.Dial)
	require.Empty(t, a.Do("LOCK.DEADLOCKS").Elems)
	b.Do("CLIENT", "SETNAME", "bee")
	a.Do("LOCK", "k1", "a")
	b.Do("LOCK", "k2", "b")
	a.Send("LOCK", "k2", "a", "WAIT", "0")
	eventually(t, func() bool { return len(b.Do("LOCK.WAITERS").Elems) == 1 }, "it waits")
	for range 70 {
		require.Contains(t, b.Do("LOCK", "k1", "b", "WAIT", "0").Str, "DEADLOCK")
	}
	require.Len(t, b.Do("LOCK.DEADLOCKS").Elems, 10)
	require.Len(t, b.Do("LOCK.DEADLOCKS", "COUNT", "1000").Elems, 64)
	cycle := entries(t, b.Do("LOCK.DEADLOCKS", "COUNT", "1").Elems[0])
	require.Equal(t, `["b" "k1" "a" "k2" "b"]`, cycle["cycle"].String())
	require.Equal(t, "bee", entries(t, cycle["client"])["name"].Str)
	require.Zero(t, cycle["cut"].Int)

	b.Do("ACL", "SETUSER", "half", "on", "nopass", "+@all", "~k1")
	half := testkit.Dial(t, srv.Dial)
	half.Do("AUTH", "half", "any")
	require.Empty(t, half.Do("LOCK.DEADLOCKS").Elems)
}
