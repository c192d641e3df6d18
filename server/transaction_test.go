package server

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/store"
	"lockserver/tests/testkit"
)

// units is a journal that keeps the names of the effects of each unit.
type units struct{ list []string }

func (u *units) Append(unit []store.Effect) {
	var names []string
	for _, e := range unit {
		names = append(names, string(e.Args[0]))
	}
	u.list = append(u.list, strings.Join(names, " "))
}

var transactionScripts = []struct{ name, text string }{
	{"a lock inside does not wait", `
		A LOCK k a PX 1000 -> token
		B MULTI -> +OK
		B LOCK k b WAIT 0 -> +QUEUED
		B LOCK l b WAIT 0 -> +QUEUED
		B EXEC -> [$nil 1700000000000001]
		parked 0
		B UNLOCK l b -> 1`},
	{"a waiter is served after the whole unit", `
		A LOCK k a -> token=1
		B LOCK k b WAIT 0 -> waits
		A MULTI -> +OK
		A UNLOCK k a -> +QUEUED
		A EXISTS k -> +QUEUED
		A LOCK k a -> +QUEUED
		A GET x -> +QUEUED
		A EXEC -> [1 0 $nil $nil]
		B <- token>1
		A EXISTS k -> 1`},
	{"what is released and taken again inside is not free", `
		A LOCK k a PX 9000 -> token=1
		B LOCK k b WAIT 0 -> waits
		A MULTI -> +OK
		A DEL k -> +QUEUED
		A HSET k c 1 -> +QUEUED
		A EXEC -> [1 1]
		parked 1
		A DEL k -> 1
		B <- token>1`},
	{"watching a lock: a grant", `
		C WATCH k -> +OK
		A LOCK k a -> token
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"watching a lock: re-entry, renewal and release", `
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		A LOCK k a PX 1000 -> token
		C MULTI -> +OK
		C EXEC -> *nil
		C WATCH k -> +OK
		A RENEW k a PX 1000 -> 1
		C MULTI -> +OK
		C EXEC -> *nil
		C WATCH k -> +OK
		A UNLOCK k a -> 0
		C MULTI -> +OK
		C EXEC -> *nil
		C WATCH k -> +OK
		A UNLOCK k a -> 1
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"watching a lock: the server's renewal, and the end of the lease", `
		A LOCK k a -> token
		C WATCH k -> +OK
		+10s
		C MULTI -> +OK
		C EXEC -> *nil
		A LOCK k a PX 1000 -> token
		C WATCH k -> +OK
		!1000ms
		C MULTI -> +OK
		C EXEC -> *nil
		A EXISTS k -> 0`},
	{"watching a lock: who joins or leaves the queue changes nothing", `
		A LOCK k a PX 5000 -> token
		C WATCH k -> +OK
		B LOCK k b WAIT 100 -> waits
		+100ms
		B <- $nil
		A LOCK k b -> $nil
		A UNLOCK k x -> $nil
		C MULTI -> +OK
		C PING -> +QUEUED
		C EXEC -> [+PONG]`},
	{"watching a lock: the grant to a waiter", `
		A LOCK k a PX 1000 -> token
		B LOCK k b WAIT 0 -> waits
		C WATCH k -> +OK
		+1000ms
		B <- token
		C MULTI -> +OK
		C EXEC -> *nil`},
	{"a client that goes forgets its watches and its queue", `
		A WATCH k l -> +OK
		A MULTI -> +OK
		A SET k 1 -> +QUEUED
		close A
		B SET k 2 -> +OK
		B GET k -> "2"`},
	{"who kills itself inside still runs the rest", `
		A CLIENT SETNAME me -> +OK
		A MULTI -> +OK
		A CLIENT KILL TYPE normal SKIPME no -> +QUEUED
		A PUBLISH c m -> +QUEUED
		B SUBSCRIBE c -> ["subscribe" "c" 1]
		A sends EXEC # whose reply ends behind the first, as in Redis
		B <- ["message" "c" "m"]`},
	{"who kills itself at the end has its reply", `
		A MULTI -> +OK
		A SET k 1 -> +QUEUED
		A CLIENT KILL TYPE normal SKIPME no -> +QUEUED
		A EXEC -> [+OK 1]
		A <- closed
		B GET k -> "1"`},
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	for _, s := range transactionScripts {
		t.Run(s.name, func(t *testing.T) {
			clock := NewManualClock(time.UnixMilli(1_700_000_000_000))
			srv := startWith(t, Options{Clock: clock}, nil)
			converse(t, srv, clock, srv.Dial, s.text)
			checkWatching(t, srv)
		})
	}
}

// checkWatching fails if a watch is left that no client has.
func checkWatching(t *testing.T, srv *instance) {
	t.Helper()
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	n := 0
	for _, s := range srv.executor.clients {
		n += s.tx.watches.Len()
	}
	require.Equal(t, n, srv.executor.watching.Len())
	require.NoError(t, srv.executor.watching.Check())
}

// A transaction reaches the journal as one unit, together with what it let others do.
func TestTransactionIsOneUnit(t *testing.T) {
	t.Parallel()
	journal := new(units)
	srv := startWith(t, Options{Journal: journal}, nil)
	a, b := client(t, srv), client(t, srv)
	a.Do("LOCK", "k", "a", "PX", "10000")
	b.Send("LOCK", "k", "b", "WAIT", "0", "PX", "10000")
	awaitParked(t, srv, 1)
	journal.list = nil
	for _, command := range []string{"MULTI", "SET x 1", "INCR x", "GET x", "UNLOCK k a", "SADD s m", "EXEC"} {
		a.Do(strings.Fields(command)...)
	}
	b.Receive()
	require.Equal(t, []string{"SET SET DEL SADD HSET PEXPIREAT"}, journal.list)
}

// A transaction may have replies that pass the limit. That costs its client the connection. The transaction
// runs to its end, and does not gather all of the replies first.
func TestTransactionOutputLimit(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, func(c *config.Config) { c.ClientOutputBufferLimit.Normal.HardBytes = 1 << 20 })
	a, b := client(t, srv), client(t, srv)
	a.Do("SET", "k", strings.Repeat("x", 1<<19))
	a.Do("MULTI")
	for range 8 {
		a.Do("GET", "k")
	}
	a.Do("SET", "done", "1")
	a.Send("EXEC")
	awaitClosed(t, a.Conn())
	require.Equal(t, `"1"`, b.Do("GET", "done").String())
}

// Many clients count in one key, each by WATCH: every EXEC that says it succeeded did.
func TestWatchIsOptimisticLocking(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		each := testkit.Steps(20, 50)
		const clients = 8
		done := make(chan struct{})
		for range clients {
			c := testkit.Dial(t, dial)
			go func() {
				defer func() { done <- struct{}{} }()
				for n := 0; n < each; {
					c.Do("WATCH", "counter")
					old := c.Do("GET", "counter")
					c.Do("MULTI")
					c.Do("SET", "counter", strconv.Itoa(counted(old.Str)+1))
					if !c.Do("EXEC").IsNull() {
						n++
					}
				}
			}()
		}
		for range clients {
			<-done
		}
		require.Equal(t, strconv.Itoa(clients*each), testkit.Dial(t, dial).Do("GET", "counter").Str)
		checkWatching(t, srv)
	})
}

// counted is the number that a counter's text says, 0 if it was not there.
func counted(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// CLIENT REPLY SKIP in a transaction is for the command behind EXEC, as in Redis; its own
// place in the array stays empty.
func TestReplySkipInATransaction(t *testing.T) {
	t.Parallel()
	c := client(t, startWith(t, Options{}, nil))
	_, err := c.Conn().Write([]byte("MULTI\r\nCLIENT REPLY SKIP\r\nECHO a\r\nECHO b\r\nEXEC\r\nECHO x\r\nECHO y\r\n"))
	require.NoError(t, err)
	want := "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\ny\r\n"
	got := make([]byte, len(want))
	_, err = io.ReadFull(c.Conn(), got)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}
