package server

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestIdleClientsAreClosed(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, c := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Do("CONFIG", "SET", "timeout", "10")
		a.Do("LOCK", "k", "a", "PX", "100000")
		b.Send("LOCK", "k", "b", "WAIT", "60000")
		awaitParked(t, srv, 1)
		c.Do("PING")
		clock.Advance(9 * time.Second)
		a.Do("PING")
		clock.Advance(3 * time.Second)
		awaitClosed(t, c.Conn())
		clock.Advance(12 * time.Second)
		awaitClosed(t, a.Conn())
		require.Equal(t, 1, srv.parked(), "one that waits is not idle")
		clock.Advance(36 * time.Second)
		require.Equal(t, "$nil", b.Receive().String(), "nor is it when its wait has just ended")
		require.Equal(t, "+PONG", b.Do("PING").String())
		clock.Advance(12 * time.Second)
		awaitClosed(t, b.Conn())
	})
}

// A subscriber, or a client with locks that the server renews, is not idle, however long it sends nothing.
func TestWhoIsNotIdle(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		clients := map[string]*testkit.Client{}
		for _, line := range []string{"SUBSCRIBE c", "PSUBSCRIBE c*", "SSUBSCRIBE c", "MONITOR", "LOCK k me", "PING"} {
			clients[line] = testkit.Dial(t, dial)
			clients[line].Do(strings.Fields(line)...)
		}
		paused := testkit.Dial(t, dial)
		paused.Do("CONFIG", "SET", "timeout", "10")
		paused.Do("CLIENT", "PAUSE", "70000")
		paused.Send("SET", "x", "1")
		eventually(t, func() bool {
			srv.executor.Mu.Lock()
			defer srv.executor.Mu.Unlock()
			return srv.executor.Pausing.Waiting() == 1
		}, "it is paused")
		for range 12 {
			clock.Advance(5 * time.Second)
		}
		awaitClosed(t, clients["PING"].Conn())
		clock.Advance(15 * time.Second)
		require.Equal(t, "+OK", paused.Receive().String())
		require.Equal(t, "+PONG", paused.Do("PING").String())
		require.EqualValues(t, 1, paused.Do("SPUBLISH", "c", "m").Int)
		require.EqualValues(t, 2, paused.Do("PUBLISH", "c", "m").Int)
		require.Equal(t, 6, srv.connected())
		require.EqualValues(t, 1, clients["LOCK k me"].Do("UNLOCK", "k", "me").Int)
		clock.Advance(12 * time.Second)
		awaitClosed(t, clients["LOCK k me"].Conn())
		awaitClosed(t, paused.Conn())
		require.Equal(t, 4, srv.connected())
	})
}

// seesReading reports whether a client has taken some of what waits for it since the last look for idle ones.
func (srv *instance) seesReading() bool {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	for _, s := range srv.executor.clients {
		if s.reads.Load() {
			return true
		}
	}
	return false
}

// A client that reads its replies slowly is not idle. A client that does not read them at all is idle.
func TestSlowReaderIsNotIdle(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		conn := stall(t, srv, dial, false)
		_, err := conn.Write([]byte(strings.Repeat("GET big\r\n", 400))) // more than systems hold: some hold 32 MB
		require.NoError(t, err)
		admin := client(t, srv)
		admin.Do("CONFIG", "SET", "timeout", "10")
		admin.Close()
		eventually(t, func() bool { return srv.connected() == 1 }, "the server has seen that the admin is gone")
		// Of small records, which those of TLS are, systems hold megabytes more than were read.
		plain := srv.SecureAddr() == nil
		for round := 0; round < 4 && (plain || round == 0); round++ {
			_, err := io.CopyN(io.Discard, conn, 3<<20)
			require.NoError(t, err)
			time.Sleep(20 * time.Millisecond) // sockets move it on
			more := 16                        // parts of what systems may hold beyond that
			eventually(t, func() bool {
				seen := srv.seesReading()
				if plain && !seen && more > 0 {
					more--
					_, err = io.CopyN(io.Discard, conn, 1<<16)
				}
				return seen || !plain || err != nil
			}, "the server has sent what fitted")
			require.NoError(t, err)
			clock.Advance(6 * time.Second)
			require.Equal(t, 1, srv.connected())
		}
		eventually(t, func() bool {
			clock.Advance(12 * time.Second) // sockets may have moved something since the last look
			return srv.connected() == 0
		}, "it does nothing")
	})
}

// A client that has to log in has ten seconds for it, from the beginning or from RESET. A client without
// that duty may wait.
func TestUnauthenticatedClientsAreClosed(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock, Directives: withPassword("secret").Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		silent, busy, late, known := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Equal(t, "+OK", known.Do("AUTH", "secret").String())
		require.Equal(t, "+OK", late.Do("AUTH", "secret").String())
		eventually(t, func() bool { return srv.connected() == 4 }, "all are there")
		for range 9 {
			clock.Advance(time.Second)
			require.Contains(t, busy.Do("AUTH", "wrong").String(), "WRONGPASS")
		}
		require.Equal(t, "+RESET", late.Do("RESET").String())
		clock.Advance(3 * time.Second)
		awaitClosed(t, silent.Conn())
		awaitClosed(t, busy.Conn())
		clock.Advance(6 * time.Second)
		require.Contains(t, late.Do("PING").String(), "NOAUTH", "its time began with RESET")
		clock.Advance(3 * time.Second)
		awaitClosed(t, late.Conn())
		require.Equal(t, "+OK", known.Do("CONFIG", "SET", "auth-timeout", "0").String())
		quiet := testkit.Dial(t, dial)
		require.Contains(t, quiet.Do("PING").String(), "NOAUTH")
		clock.Advance(time.Hour)
		require.Equal(t, "+OK", quiet.Do("AUTH", "secret").String())
		require.Equal(t, "+PONG", known.Do("PING").String())
	})
}
