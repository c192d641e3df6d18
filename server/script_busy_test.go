package server

import (
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/testkit"
)

const (
	endless      = "while true do end"
	endlessWrite = "redis.call('set', 'w', 'v') while true do end"
	busyReply    = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	busyFunction = "-BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
	killedReply  = "-ERR Script killed by user with SCRIPT KILL... script: "
	endlessCode  = "#!lua name=endless\nredis.register_function('spin', function() while true do end end)"
)

// outOfTurn is a limit for what waits until scripts have had their time on the processors. Other tests with
// endless scripts run at the same time.
const outOfTurn = 3 * time.Minute

// onEveryTransportBusy is onEveryTransport with a busy-reply-threshold of some milliseconds, where a busy
// script lets others be answered.
func onEveryTransportBusy(t *testing.T, test func(t *testing.T, srv *instance, dial func() (net.Conn, error))) {
	conf := quiet()
	conf.BusyReplyThresholdMS = 5
	onEveryTransport(t, Options{Directives: conf.Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		test(t, srv, dial)
	})
}

// awaitBusy waits until a command is refused because the script of runs is busy.
func awaitBusy(t *testing.T, runs, c *testkit.Client, want string) {
	t.Helper()
	for end := time.Now().Add(outOfTurn); ; {
		got := c.Do("GET", "x").String()
		if got != "$nil" {
			require.Equal(t, want, got)
			return
		}
		if time.Now().After(end) {
			v, answered := runs.ReceiveWithin(time.Millisecond)
			require.Fail(t, "the server should be busy", "the script's client has got: %v %v", answered, v)
		}
	}
}

func TestBusyScript(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Send("EVAL", endless, "0")
		awaitBusy(t, a, b, busyReply)
		for _, words := range [][]string{{"PING"}, {"SET", "k", "v"}, {"EVAL", "return 1", "0"}, {"FUNCTION", "STATS"}, {"FUNCTION", "KILL"},
			{"SHUTDOWN"}, {"SHUTDOWN", "SAVE"}, {"CONFIG", "GET", "save"}, {"SUBSCRIBE", "c"}} {
			require.Equal(t, busyReply, b.Do(words...).String(), "%v", words)
		}
		require.Equal(t, "+OK", b.Do("MULTI").String())
		require.Equal(t, busyReply, b.Do("SET", "k", "v").String())
		require.Equal(t, "-EXECABORT Transaction discarded because of: "+busyReply[1:], b.Do("EXEC").String())
		require.Equal(t, "+OK", b.Do("WATCH", "k").String())
		require.Equal(t, "+OK", b.Do("UNWATCH").String())
		c := testkit.Dial(t, dial) // new connections are served, too
		require.Equal(t, busyReply, c.Do("PING").String())
		require.Equal(t, "+OK", c.Do("SCRIPT", "KILL").String())
		got := a.Receive().String()
		require.Contains(t, got, killedReply)
		for _, client := range []*testkit.Client{a, b, c} {
			require.Equal(t, "+PONG", client.Do("PING").String())
		}
		require.Equal(t, "-NOTBUSY No scripts in execution right now.", a.Do("SCRIPT", "KILL").String())
		require.Equal(t, "0", a.Do("EXISTS", "k").String())
	})
}

func TestBusyScriptThatHasWritten(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Send("EVAL", endlessWrite, "0")
		awaitBusy(t, a, b, busyReply)
		require.Contains(t, b.Do("SCRIPT", "KILL").String(), "-UNKILLABLE Sorry the script already executed write commands")
		b.Send("SHUTDOWN", "NOSAVE")
		awaitClosed(t, b.Conn())
		got, err := a.Next()
		require.Error(t, err, "no command has failed: %v", got)
		select {
		case <-srv.Done():
		case <-time.After(soon):
			require.Fail(t, "the server goes on")
		}
		require.Zero(t, srv.ExitCode())
	})
}

func TestBusyFunction(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Equal(t, `"endless"`, a.Do("FUNCTION", "LOAD", endlessCode).String())
		a.Send("FCALL", "spin", "1", "key", "arg")
		awaitBusy(t, a, b, busyFunction)
		require.Equal(t, busyFunction, b.Do("SCRIPT", "KILL").String())
		stats := b.Do("FUNCTION", "STATS")
		require.Len(t, stats.Elems, 4)
		running := stats.Elems[1].Elems
		require.Len(t, running, 6)
		require.Equal(t, `"spin"`, running[1].String())
		require.Equal(t, `["FCALL" "spin" "1" "key" "arg"]`, running[3].String())
		require.Equal(t, "+OK", b.Do("FUNCTION", "KILL").String())
		require.Contains(t, a.Receive().String(), killedReply+"spin")
		require.Equal(t, "+PONG", b.Do("PING").String())
		require.Contains(t, a.Do("FCALL", "nosuch", "0").String(), "not found", "the libraries are still there, or gone as a whole")
	})
}

// TestBusyDisconnects: clients that go while a script is busy leave nothing behind, and what they held is
// given back when the script is over. One of them is the client that runs the script.
func TestBusyDisconnects(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		waiters := make([]*testkit.Client, 3)
		require.Equal(t, "+OK", b.Do("SET", "x2", "1").String())
		for i := range waiters {
			waiters[i] = testkit.Dial(t, dial)
			waiters[i].Send("BLPOP", "list", "0")
			awaitParked(t, srv, i+1)
		}
		a.Send("EVAL", endless, "0")
		awaitBusy(t, a, b, busyReply)
		waiters[0].Close()
		a.Close()
		require.Equal(t, "+OK", b.Do("SCRIPT", "KILL").String())
		awaitParked(t, srv, 2)
		eventually(t, func() bool { return srv.connected() == 3 }, "the closed ones should be forgotten")
		require.Equal(t, "2", b.Do("RPUSH", "list", "1", "2").String())
		require.Equal(t, `["list" "1"]`, waiters[1].Receive().String())
		require.Equal(t, `["list" "2"]`, waiters[2].Receive().String())
		checkParking(t, srv)
	})
}

// TestBusyClientSendsOn: what the client of a busy script sends meanwhile is answered behind it.
func TestBusyClientSendsOn(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		for _, alone := range []bool{true, false} {
			if !alone { // the script is run when the client's wait is over
				a.Send("BLPOP", "list", "0")
				awaitParked(t, srv, 1)
			}
			a.Send("EVAL", endless, "0")
			if !alone {
				require.Equal(t, "1", b.Do("RPUSH", "list", "e").String())
			}
			awaitBusy(t, a, b, busyReply)
			a.Send("PING")
			a.Send("ECHO", "and on")
			time.Sleep(10 * time.Millisecond) // it arrives while the script is busy
			require.Equal(t, "+OK", b.Do("SCRIPT", "KILL").String())
			if !alone {
				require.Equal(t, `["list" "e"]`, a.Receive().String())
			}
			require.Contains(t, a.Receive().String(), killedReply)
			require.Equal(t, "+PONG", a.Receive().String())
			require.Equal(t, `"and on"`, a.Receive().String())
		}
	})
}

// TestBusyTimeStands: while a script is busy nothing falls due, and the clock that
// its commands see stands still.
func TestBusyTimeStands(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		require.Equal(t, "+OK", a.Do("SET", "dies", "v", "PX", "40").String())
		a.Send("EVAL", "local first = redis.call('time') local n = 0 "+
			"while redis.call('exists', 'stop') == 0 and n < 6000000000 do n = n + 1 if n % 1000000 == 0 then redis.call('get', 'dies') end end "+
			"local last = redis.call('time') return {first[1] == last[1] and first[2] == last[2], redis.call('exists', 'dies')}", "0")
		awaitBusy(t, a, b, busyReply)
		time.Sleep(60 * time.Millisecond) // the key's time comes
		require.Equal(t, "+OK", b.Do("SCRIPT", "KILL").String())
		require.Contains(t, a.Receive().String(), killedReply)
		eventually(t, func() bool { return b.Do("DBSIZE").String() == "0" }, "the key should die after the script")
	})
}

// TestBusyClose: an embedding program ends a server whatever runs in it.
func TestBusyClose(t *testing.T) {
	t.Parallel()
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Send("EVAL", endlessWrite, "0")
		awaitBusy(t, a, b, busyReply)
		require.NoError(t, srv.Close())
	})
	t.Run("before it is busy", func(t *testing.T) {
		srv := startWith(t, Options{}, nil)
		a := client(t, srv)
		a.Send("EVAL", endless, "0")
		require.NoError(t, srv.Close())
	})
	t.Run("Shutdown", func(t *testing.T) {
		srv := startWith(t, Options{}, func(c *config.Config) { c.BusyReplyThresholdMS = 5 })
		a, b := client(t, srv), client(t, srv)
		a.Send("EVAL", endless, "0")
		awaitBusy(t, a, b, busyReply)
		require.NoError(t, srv.Shutdown(ShutdownOptions{}))
	})
}

// TestBusyRaces lets killing, hanging up and the script's own end meet, many times. The server goes on in
// each order.
func TestBusyRaces(t *testing.T) {
	t.Parallel()
	rounds := testkit.Steps(2, 12)
	turns := testkit.Steps(1_000_000, 3_000_000) // each takes at least 10 ns
	onEveryTransportBusy(t, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		for round := range rounds {
			a, b, c := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
			a.Send("EVAL", "local n, most = 0, tonumber(ARGV[1]) while n < most do n = n + 1 end return n", "0", strconv.Itoa(turns))
			var group sync.WaitGroup
			group.Go(func() { _, _ = b.Call("SCRIPT", "KILL") })
			group.Go(func() {
				_, _ = c.Call("SET", "k", "v")
				c.Close()
			})
			if round%3 == 0 {
				a.Close()
			} else {
				_, err := a.Next()
				require.NoError(t, err)
			}
			group.Wait()
			b.Close()
			d := testkit.Dial(t, dial)
			eventuallyWithin(t, outOfTurn, func() bool {
				got := d.Do("PING").String()
				if got != "+PONG" {
					require.Equal(t, busyReply, got)
				}
				return got == "+PONG"
			}, "the script ends by itself")
			d.Close()
			if a.Close(); round == rounds-1 {
				eventually(t, func() bool { return srv.connected() == 0 }, "all have gone")
			}
		}
	})
}
