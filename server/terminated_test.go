package server

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// eventful is a configuration with all events of keys, in which a subscriber may be
// sent no more than 20,000 bytes.
func eventful(t *testing.T) *config.Config {
	t.Helper()
	c := quiet()
	_, err := c.Set([]string{"notify-keyspace-events", "KEA", "client-output-buffer-limit", "pubsub 20000 0 0"}, true)
	require.NoError(t, err)
	return c
}

// longName is a key with events that are larger than a subscriber's output may be.
var longName = strings.Repeat("n", 30_000)

// write sends commands in one write.
func write(t *testing.T, c *testkit.Client, commands ...[]string) {
	t.Helper()
	var out []byte
	for _, words := range commands {
		out = appendCommand(out, words...)
	}
	_, err := c.Conn().Write(out)
	require.NoError(t, err)
}

// awaitEnd reads what is left to come on a connection that the server closes, and returns the token of a
// lock if that is among it, otherwise 0.
func awaitEnd(t *testing.T, c *testkit.Client) (token int64) {
	t.Helper()
	for {
		v, err := c.Next()
		if err != nil {
			require.NotContains(t, err.Error(), "timeout", "the connection is not closed")
			return token
		}
		if v.Kind == resp.Integer {
			token = v.Int
		}
	}
}

// checkHolder fails unless a lock is held with this token. With 0 the lock must soon be free: a grant that an
// ended connection had not read is taken back when its owner has noticed the end. On a connection with
// goroutines of its own, it is not known whether the last write before the cut was read: such a grant stays.
func checkHolder(t *testing.T, c *testkit.Client, key string, token int64) {
	t.Helper()
	if token > 0 {
		info := c.Do("LOCK.INFO", key)
		require.Equal(t, token, info.Elems[5].Int, "%s", info)
	} else if !strings.HasSuffix(t.Name(), "goroutines") {
		eventually(t, func() bool { return c.Do("LOCK.INFO", key).String() == "$nil" }, "no client has read that it holds the lock")
	}
}

// One client's command passes the limits of two others. One of these was given a lock by the command before
// it. Taking the lock back publishes an event for the other one.
func TestTerminatedWithAGrant(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{Directives: eventful(t).Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, h := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Positive(t, h.Do("LOCK", "k", "h", "PX", "60000").Int)
		a.Hello(3)
		a.Send("PSUBSCRIBE", "__key*")
		a.Receive()
		b.Do("PSUBSCRIBE", "__key*")
		a.Send("LOCK", "k", "a", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 1)
		write(t, h, []string{"UNLOCK", "k", "h"}, []string{"SET", longName, "1"})
		require.EqualValues(t, 1, h.Receive().Int)
		require.Equal(t, "+OK", h.Receive().String())
		awaitEnd(t, b)
		checkHolder(t, h, "k", awaitEnd(t, a)) // the two commands may have been read one after the other
		eventually(t, func() bool { return srv.connected() == 1 }, "both are gone")
		checkParking(t, srv)
		checkPubSub(t, srv)
	})
}

// A client gets a lock and then passes its own limit, with a command that has its reply dropped.
func TestTerminatedByItselfWithAGrant(t *testing.T) {
	t.Parallel()
	for name, overflow := range map[string][2][]string{
		"by one event": {{"SUBSCRIBE", "__keyevent@0__:set"}, {"SET", longName, "1"}},
		// Commands that are smaller than the buffer of one read run together on every transport.
		"by two events": {{"PSUBSCRIBE", "__key*"}, {"SET", longName[:12_000], "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryTransport(t, Options{Directives: eventful(t).Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
				a, h := testkit.Dial(t, dial), testkit.Dial(t, dial)
				require.Positive(t, h.Do("LOCK", "k", "h", "PX", "60000").Int)
				a.Hello(3)
				a.Do(overflow[0]...)
				write(t, a, []string{"LOCK", "k", "a", "PX", "60000", "WAIT", "0"}, []string{"CLIENT", "REPLY", "SKIP"}, overflow[1])
				awaitParked(t, srv, 1)
				require.EqualValues(t, 1, h.Do("UNLOCK", "k", "h").Int)
				token := awaitEnd(t, a)
				eventually(t, func() bool { return srv.connected() == 1 }, "it is gone")
				checkHolder(t, h, "k", token)
				checkParking(t, srv)
				checkPubSub(t, srv)
			})
		})
	}
}

// One command serves two waiters; the event of the second grant passes the limit of the first waiter.
func TestTerminatedWhileAnotherIsServed(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{Directives: eventful(t).Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, h := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Len(t, h.Do("MLOCK", "2", "k1", longName, "h", "PX", "60000").Elems, 2)
		a.Hello(3)
		a.Send("SUBSCRIBE", "__keyevent@0__:lock")
		a.Receive()
		a.Send("LOCK", "k1", "a", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 1)
		b.Send("LOCK", longName, "b", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 2)
		require.Equal(t, "[1 1]", h.Do("MUNLOCK", "2", "k1", longName, "h").String())
		token := b.Receive()
		require.Positive(t, token.Int, "%s", token)
		require.Equal(t, "+PONG", b.Do("PING").String())
		checkHolder(t, h, longName, token.Int)
		require.Zero(t, awaitEnd(t, a))
		checkHolder(t, h, "k1", 0)
		eventually(t, func() bool { return srv.connected() == 2 }, "it is gone")
		checkParking(t, srv)
		checkPubSub(t, srv)
	})
}

// The same, when the closing client was granted something in another database than the waiter that is being
// served.
func TestTerminatedInAnotherDatabase(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{Directives: eventful(t).Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, h := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Equal(t, "+OK", a.Do("SELECT", "3").String())
		require.Positive(t, a.Do("LOCK", "k1", "h", "PX", "60000").Int)
		require.Len(t, h.Do("MLOCK", "2", longName, "k2", "h", "PX", "60000").Elems, 2)
		a.Hello(3)
		a.Send("PSUBSCRIBE", "__keyevent@?__:lock")
		a.Receive()
		a.Send("LOCK", "k1", "a", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 1)
		b.Send("MLOCK", "2", longName, "k2", "b", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 2)
		write(t, h, []string{"MULTI"}, []string{"SELECT", "3"}, []string{"UNLOCK", "k1", "h"}, []string{"SELECT", "0"},
			[]string{"MUNLOCK", "2", longName, "k2", "h"}, []string{"EXEC"})
		for range 5 {
			h.Receive()
		}
		require.Equal(t, "[+OK 1 +OK [1 1]]", h.Receive().String())
		require.Len(t, b.Receive().Elems, 2)
		require.Equal(t, "+PONG", b.Do("PING").String())
		require.Zero(t, awaitEnd(t, a))
		for _, key := range []string{longName, "k2"} {
			require.Equal(t, `"b"`, h.Do("LOCK.INFO", key).Elems[1].String())
		}
		h.Do("SELECT", "3")
		for _, key := range []string{longName, "k1", "k2"} {
			checkHolder(t, h, key, 0)
		}
		checkPubSub(t, srv)
	})
}

// A waiter passes its limit because of what the waiter before it in the same queue gets: it gets nothing, and
// nothing is lost.
func TestTerminatedBehindTheOneThatIsServed(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{Directives: eventful(t).Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, h := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Hello(3)
		a.Do("SUBSCRIBE", "__keyevent@0__:lpop")
		b.Send("BLPOP", longName, "0")
		awaitParked(t, srv, 1)
		a.Send("BLPOP", longName, "0")
		awaitParked(t, srv, 2)
		require.Equal(t, "2", h.Do("RPUSH", longName, "x", "y").String())
		require.Equal(t, "x", b.Receive().Elems[1].Str)
		require.Zero(t, awaitEnd(t, a))
		require.Equal(t, `["y"]`, h.Do("LRANGE", longName, "0", "-1").String())
		checkPubSub(t, srv)
	})
}

// A waiter behind a client that is killed in a transaction is served when that is over.
func TestTerminatedInATransaction(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, h := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Positive(t, h.Do("LOCK", "k", "h", "PX", "60000").Int)
		id := a.Do("CLIENT", "ID").String()
		a.Send("LOCK", "k", "a", "WAIT", "0")
		awaitParked(t, srv, 1)
		b.Send("LOCK", "k", "b", "WAIT", "0")
		awaitParked(t, srv, 2)
		h.Do("MULTI")
		for _, words := range [][]string{{"UNLOCK", "k", "h"}, {"CLIENT", "KILL", "ID", id}, {"CLIENT", "KILL", "ID", id},
			{"CLIENT", "UNBLOCK", id}, {"LOCK.INFO", "k"}} {
			require.Equal(t, "+QUEUED", h.Do(words...).String())
		}
		require.Equal(t, "[1 1 0 0 $nil]", h.Do("EXEC").String())
		checkHolder(t, h, "k", b.Receive().Int)
		require.Zero(t, awaitEnd(t, a))
	})
}

// A transaction that exceeds its own client's limit goes on. So does a transaction that kills its client
// while the client is granted a lock.
func TestTerminatedByItsOwnTransaction(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{Directives: eventful(t).Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, h := testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Hello(3)
		a.Do("SUBSCRIBE", "c")
		write(t, a, []string{"MULTI"}, []string{"PUBLISH", "c", longName}, []string{"SET", "k", "1"}, []string{"EXEC"}, []string{"SET", "k", "2"})
		require.Zero(t, awaitEnd(t, a))
		require.Equal(t, `"1"`, h.Do("GET", "k").String(), "no command behind it runs")
		checkPubSub(t, srv)
	})
}

// A request of HTTP ends the connection without a reply, so an earlier grant was never sent.
func TestGrantBeforeHTTP(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, h := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Positive(t, h.Do("LOCK", "k", "h", "PX", "60000").Int)
		write(t, a, []string{"LOCK", "k", "a", "PX", "60000", "WAIT", "0"}, []string{"POST", "/", "HTTP/1.1"})
		awaitParked(t, srv, 1)
		b.Send("LOCK", "k", "b", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 2)
		require.EqualValues(t, 1, h.Do("UNLOCK", "k", "h").Int)
		checkHolder(t, h, "k", b.Receive().Int)
		require.Zero(t, awaitEnd(t, a))
		checkParking(t, srv)
	})
}

// A client that tracks is granted a lock and sent too much when the slice ends: the next one gets the lock.
func TestTerminatedTrackerWithAGrant(t *testing.T) {
	t.Parallel()
	conf := eventful(t)
	conf.ClientOutputBufferLimit.Normal = conf.ClientOutputBufferLimit.PubSub
	onEveryTransport(t, Options{Directives: conf.Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, h := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Positive(t, h.Do("LOCK", "k", "h", "PX", "60000").Int)
		a.Hello(3)
		a.Do("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "n")
		a.Send("LOCK", "k", "a", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 1)
		b.Send("LOCK", "k", "b", "PX", "60000", "WAIT", "0")
		awaitParked(t, srv, 2)
		write(t, h, []string{"MULTI"}, []string{"UNLOCK", "k", "h"}, []string{"SET", longName, "1"}, []string{"EXEC"})
		for range 3 {
			h.Receive()
		}
		require.Equal(t, "[1 +OK]", h.Receive().String())
		checkHolder(t, h, "k", b.Receive().Int)
		require.Zero(t, awaitEnd(t, a))
		checkParking(t, srv)
	})
}

// A busy script passes the limit of a waiter. The waiter keeps its place until the script is over; if its
// connection ends meanwhile, it is gone.
func TestTerminatedByABusyScript(t *testing.T) {
	t.Parallel()
	for _, leaves := range []bool{false, true} {
		onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
			a, b, h, other := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
			h.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 20000 0 0")
			require.Positive(t, h.Do("LOCK", "k", "h", "PX", "60000").Int)
			a.Hello(3)
			a.Do("SUBSCRIBE", "c")
			a.Send("LOCK", "k", "a", "WAIT", "0")
			awaitParked(t, srv, 1)
			b.Send("LOCK", "k", "b", "WAIT", "0")
			awaitParked(t, srv, 2)
			h.Send("EVAL", "redis.call('publish', 'c', ARGV[1]) redis.call('publish', 'c', ARGV[1]) while true do end", "0", longName)
			awaitBusy(t, h, other, busyReply)
			if leaves {
				a.Close()
				awaitParked(t, srv, 1)
			}
			require.Equal(t, "+OK", other.Do("SCRIPT", "KILL").String())
			require.Contains(t, h.Receive().String(), killedReply)
			require.EqualValues(t, 1, h.Do("UNLOCK", "k", "h").Int)
			checkHolder(t, h, "k", b.Receive().Int)
			if !leaves {
				require.Zero(t, awaitEnd(t, a))
			}
			eventually(t, func() bool { return srv.connected() == 3 }, "it is gone")
			checkParking(t, srv)
			checkPubSub(t, srv)
		})
	}
}

// The output of a closing session does not grow until its unit is over.
func TestTerminatedSessionGrowsNoMore(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, func(c *config.Config) { *c = *eventful(t) })
	a := client(t, srv)
	a.Do("SUBSCRIBE", "c")
	inbox, terminated, clients := 0, 0, 0
	srv.executor.Do(func() {
		var s *session
		for _, s = range srv.executor.clients { // there is one
			for range 1000 {
				srv.executor.publish([]byte("c"), []byte(longName))
			}
			srv.executor.terminate(s) // not twice
		}
		inbox, terminated, clients = s.inbox.Bytes(), len(srv.executor.Terminated), len(srv.executor.clients)
	})
	require.Zero(t, inbox)
	require.Equal(t, 1, terminated)
	require.Zero(t, clients)
	awaitClosed(t, a.Conn())
	checkPubSub(t, srv)
}
