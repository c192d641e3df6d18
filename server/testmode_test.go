package server

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/topology"
	"lockserver/tests/testkit"
)

// inTestMode is a server in test mode over its event loops.
func inTestMode(t testing.TB) *instance {
	return start(t, Options{EventLoops: true, Directives: map[string]string{"test-mode": "yes"}})
}

// Without test mode there is nothing of it.
func TestTestModeIsHidden(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	c := client(t, srv)
	says(t, c, [][2]string{{"TEST.CLOCK GET", "-ERR unknown command 'TEST.CLOCK', with args beginning with: 'GET' "}, {"command info test.clock", "[$nil]"}})
	require.Nil(t, srv.Faults())
	require.Nil(t, srv.TestClock())
}

// Nothing that is kept, or that others depend on, may be near, at the start and later.
func TestTestModeIsRefused(t *testing.T) {
	t.Parallel()
	refused := func(o Options, why string) {
		t.Helper()
		if o.Directives == nil {
			o.Directives = map[string]string{}
		}
		o.Directives["test-mode"] = "yes"
		_, err := newInstance(o)
		require.ErrorContains(t, err, why)
	}
	dir := t.TempDir()
	refused(Options{Dir: dir, AppendOnly: true}, "not with appendonly")
	refused(Options{Dir: dir, Save: "900 1"}, "not with save points")
	refused(Options{Addr: "0.0.0.0:0"}, "not with bind 0.0.0.0")
	refused(Options{Addr: "[::]:0"}, "not with bind ::")
	refused(Options{Directives: map[string]string{"bind": "127.0.0.1 -10.0.0.1"}}, "not with bind -10.0.0.1")
	refused(Options{Directives: map[string]string{"replicaof": "10.0.0.1 6379"}}, "not with replicaof")
	refused(Options{Directives: map[string]string{"bind": "0.0.0.0", "port": "0", "tls-port": "7000"}}, "not with bind 0.0.0.0")
	refused(Options{Directives: map[string]string{"unixsocket": "/tmp/none", "unixsocketperm": "777"}}, "not with a unixsocket that others may use")
	everywhere, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	defer everywhere.Close()
	refused(Options{Listener: everywhere}, "not with a listener on")
	refused(Options{Clock: NewManualClock(time.Unix(1, 0))}, "a clock of its own")
	refused(Options{Group: topology.New(topology.GroupOptions{Self: func(net.Addr) string { return "" }})}, "no group")

	c := client(t, inTestMode(t))
	for _, line := range [][]string{{"appendonly", "yes"}, {"save", "900 1"}, {"bind", "0.0.0.0"}} {
		require.Contains(t, c.Do("CONFIG", "SET", line[0], line[1]).String(), "test-mode", line[0])
	}
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "maxclients", "100").String())
	require.Contains(t, c.Do("REPLICAOF", "127.0.0.1", "1").String(), "not in test mode")
	require.Equal(t, "+OK", c.Do("REPLICAOF", "NO", "ONE").String())
	require.Contains(t, c.Do("PSYNC", "?", "-1").String(), "not in test mode")
	for _, name := range []string{"dbfilename", "replica-announce-ip"} { // a file, and a directive that may be set
		refused := strings.HasPrefix(c.Do("CONFIG", "SET", name, "x.rdb").String(), "-ERR")
		require.Equal(t, name == "dbfilename", refused, name)
	}
}

// It keeps no files, also where a configuration file says where they would be.
func TestTestModeKeepsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := start(t, Options{ConfigFile: filepath.Join(dir, "lockserver.conf"), Directives: map[string]string{"test-mode": "yes", "dir": dir}})
	c := client(t, srv)
	says(t, c, [][2]string{{"SET a 1", "+OK"}})
	for _, command := range []string{"SAVE", "BGSAVE", "BGREWRITEAOF"} {
		require.Equal(t, "-ERR", c.Do(command).String()[:4], command)
	}
	require.NoError(t, srv.Shutdown(ShutdownOptions{Save: true}))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

// A server with a frozen clock ends on request, even if clients wait.
func TestFrozenClockDoesNotHoldTheEnd(t *testing.T) {
	t.Parallel()
	srv := inTestMode(t)
	c, popper := testkit.Dial(t, overPort(srv)), testkit.Dial(t, overPort(srv))
	says(t, c, [][2]string{{"TEST.CLOCK FREEZE 1000", "1000"}})
	require.NotContains(t, c.Do("LOCK", "door", "me").String(), "ERR")
	popper.Send("BLPOP", "l", "5")
	eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 1 }, "it waits")
	c.Send("SHUTDOWN")
	select {
	case <-srv.Done():
	case <-time.After(soon):
		t.Fatal("it does not end")
	}
	_, err := popper.Next()
	require.Error(t, err)
}

// rounds counts how often a clock stops.
type rounds struct{ n atomic.Int64 }

func (r *rounds) NextDueUS() (int64, bool) { return 0, false }
func (r *rounds) RunDue()                  { r.n.Add(1) }
func (r *rounds) KeepHouse(int64)          {}

// The clock does not stop at each second of a long time in which nothing is due. An event happens at its
// time, and housekeeping has been done at the end.
func TestClockAdvancesFar(t *testing.T) {
	t.Parallel()
	srv := inTestMode(t)
	idle, c, stops := testkit.Dial(t, overPort(srv)), testkit.Dial(t, overPort(srv)), &rounds{}
	srv.TestClock().Attach(stops)
	says(t, c, [][2]string{{"TEST.CLOCK FREEZE 1000000000000", "1000000000000"}})
	says(t, idle, [][2]string{{"PING", "+PONG"}})
	says(t, c, [][2]string{{"CONFIG SET timeout 86400", "+OK"},
		{"DELAY.ADD s PX 8640000000 ID one f v", `"one"`}})
	require.NotContains(t, c.Do("LOCK", "k", "me", "PX", "1000000").String(), "ERR")
	says(t, c, [][2]string{{"TEST.CLOCK ADVANCE 34560000000", "1034560000000"}})
	require.Less(t, stops.n.Load(), int64(5000))
	says(t, c, [][2]string{{"XRANGE s - +", `[["1008640000000-0" ["f" "v"]]]`}, {"EXISTS k", "0"}})
	_, err := idle.Next()
	require.ErrorIs(t, err, io.EOF, "it was idle for more than a day")
	stops.n.Store(0)
	says(t, c, [][2]string{{"TEST.CLOCK ADVANCE 10000", "1034560010000"}})
	require.GreaterOrEqual(t, stops.n.Load(), int64(10), "housekeeping is done each second")
}

// Everything that goes by time goes by the clock, and each thing happens at its own time.
func TestClockAdvances(t *testing.T) {
	t.Parallel()
	srv := inTestMode(t)
	c, popper, waiter, holder := testkit.Dial(t, overPort(srv)), testkit.Dial(t, overPort(srv)), testkit.Dial(t, overPort(srv)), testkit.Dial(t, overPort(srv))
	const begin = 1_000_000_000_000
	says(t, c, [][2]string{{"TEST.CLOCK FREEZE 1000000000000", "1000000000000"}, {"TEST.CLOCK GET", "1000000000000"},
		{"TIME", `["1000000000" "0"]`}, {"SET a 1 PX 1000", "+OK"}, {"PTTL a", "1000"}, {"XADD s * f v", `"1000000000000-0"`},
		{"HSET h f v", "1"}, {"HPEXPIRE h 1500 FIELDS 1 f", "[1]"}, {"SET other 1", "+OK"}})
	require.NotContains(t, holder.Do("LOCK", "fixed", "me", "PX", "2000").String(), "ERR")
	require.NotContains(t, holder.Do("LOCK", "watched", "me").String(), "ERR")
	popper.Send("BLPOP", "l", "5")
	waiter.Send("LOCK", "fixed", "you", "PX", "60000", "WAIT", "10000")
	eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 2 }, "both wait")

	says(t, c, [][2]string{{"TEST.CLOCK ADVANCE 1000", strconv.Itoa(begin + 1000)}, {"EXISTS a", "1"}, {"PTTL a", "0"}, {"TEST.CLOCK ADVANCE 1", strconv.Itoa(begin + 1001)},
		{"EXISTS a", "0"}, {"HEXISTS h f", "1"}, {"TEST.CLOCK ADVANCE 999", strconv.Itoa(begin + 2000)}, {"HEXISTS h f", "0"}})
	require.Regexp(t, `^[1-9]`, waiter.Receive().String(), "its token")
	says(t, c, [][2]string{{"PTTL fixed", "60000"}, {"TEST.CLOCK ADVANCE 3600000", strconv.Itoa(begin + 3602000)}, {"EXISTS fixed", "0"}})
	require.Equal(t, "*nil", popper.Receive().String())
	require.Equal(t, "1", c.Do("EXISTS", "watched").String(), "it was renewed all the while")
	says(t, c, [][2]string{{"OBJECT IDLETIME other", "3602"}, {"OBJECT IDLETIME watched", "0"}}[:1])

	time.Sleep(3 * time.Millisecond)
	says(t, c, [][2]string{{"TEST.CLOCK GET", strconv.Itoa(begin + 3602000)}, {"PING", "+PONG"}})
	require.Equal(t, "+PONG", testkit.Dial(t, overPort(srv)).Do("PING").String(), "who is new, too")
	says(t, c, [][2]string{{"SET b 1 PX 50", "+OK"}})
	require.GreaterOrEqual(t, c.Do("TEST.CLOCK", "RESUME").Int, int64(begin+3602000), "it goes already")
	eventually(t, func() bool { return infoNumber(t, c, "expired_keys") >= 3 }, "it goes on, and the key dies by itself")
	for _, line := range []string{"ADVANCE -1", "ADVANCE x", "FREEZE -1", "FREEZE 253402300800000", "ADVANCE 9223372036854775807"} {
		require.Equal(t, "-ERR", c.Do(append([]string{"TEST.CLOCK"}, strings.Fields(line)...)...).String()[:4], line)
	}
	says(t, c, [][2]string{{"MULTI", "+OK"}, {"TEST.CLOCK ADVANCE 1", "-ERR Command not allowed inside a transaction"}})
}

// Each fault does what it says, to the commands that it is for, as often as it says, and LIST tells.
func TestFaults(t *testing.T) {
	t.Parallel()
	srv := inTestMode(t)
	c := testkit.Dial(t, overPort(srv))
	dial := func() *testkit.Client { return testkit.Dial(t, overPort(srv)) }
	says(t, c, [][2]string{{"TEST.FAULT ADD ERROR OOM MATCH set TIMES 2 SKIP 1", "1"}, {"SET a 1", "+OK"}, {"SET a 2", "-OOM"}, {"GET a", `"1"`},
		{"SET a 3", "-OOM"}, {"SET a 4", "+OK"}, {"GET a", `"4"`}})
	require.Contains(t, c.Do("TEST.FAULT", "LIST").String(), `"struck" 2`)
	says(t, c, [][2]string{{"TEST.FAULT DEL 1", "+OK"}, {"TEST.FAULT DEL 1", "-ERR there is no such fault"}, {"TEST.FAULT LIST", "[]"}})

	ended := func(victim *testkit.Client) {
		t.Helper()
		_, err := victim.Next()
		require.Error(t, err)
	}
	says(t, c, [][2]string{{"TEST.FAULT ADD DROPAFTER MATCH INCR KEY n* TIMES 1", "2"}, {"INCR m", "1"}})
	victim := dial()
	victim.Send("INCR", "n")
	ended(victim)
	says(t, c, [][2]string{{"GET n", `"1"`}, {"TEST.FAULT ADD DROPBEFORE MATCH INCR TIMES 1", "3"}})
	victim = dial()
	victim.Send("INCR", "n")
	ended(victim)
	says(t, c, [][2]string{{"GET n", `"1"`}, {"TEST.FAULT ADD CLOSE MATCH INCR TIMES 1", "4"}})
	victim = dial()
	require.Equal(t, "2", victim.Do("INCR", "n").String())
	ended(victim)

	victim = dial()
	id := victim.Do("CLIENT", "ID").String()
	says(t, c, [][2]string{{"TEST.FAULT ADD ERROR NO CLIENT " + id, "5"}, {"GET n", `"2"`}})
	says(t, victim, [][2]string{{"GET n", "-NO"}, {"PING", "-NO"}})
	says(t, c, [][2]string{{"TEST.FAULT CLEAR", "4"}, {"TEST.CLOCK FREEZE 1000000000000", "1000000000000"}, {"TEST.FAULT ADD DELAY 500 MATCH GET TIMES 1", "6"}})
	victim.Send("GET", "n")
	victim.Send("GET", "n")
	eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 1 }, "the reply is held back")
	says(t, c, [][2]string{{"TEST.CLOCK ADVANCE 499", "1000000000499"}})
	_, came := victim.ReceiveWithin(20 * time.Millisecond)
	require.False(t, came)
	says(t, c, [][2]string{{"INCR n", "3"}, {"TEST.CLOCK ADVANCE 1", "1000000000500"}})
	require.Equal(t, `"2"`, victim.Receive().String(), "it was done when it was asked for")
	require.Equal(t, `"3"`, victim.Receive().String())

	says(t, c, [][2]string{{"TEST.FAULT ADD DROPAFTER MATCH BLPOP TIMES 1", "7"}}) // the element of one that has waited is gone
	victim.Send("BLPOP", "l", "0")
	eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 1 }, "it waits")
	says(t, c, [][2]string{{"RPUSH l x", "1"}})
	ended(victim)
	for _, line := range []string{"ADD", "ADD NOSUCH", "ADD ERROR", "ADD DELAY x", "ADD DELAY -1", "ADD CLOSE MATCH", "ADD CLOSE MATCH nosuch", "ADD CLOSE TIMES x", "ADD CLOSE WHAT 1"} {
		require.Equal(t, "-ERR", c.Do(append([]string{"TEST.FAULT"}, strings.Fields(line)...)...).String()[:4], line)
	}
}

// The same from Go, and chance that repeats.
func TestTestModeFromGo(t *testing.T) {
	t.Parallel()
	srv := inTestMode(t)
	c := client(t, srv)
	srv.TestClock().FreezeAt(time.UnixMilli(5000))
	says(t, c, [][2]string{{"SET a 1 PX 10", "+OK"}})
	srv.TestClock().Advance(11 * time.Millisecond)
	says(t, c, [][2]string{{"EXISTS a", "0"}, {"TEST.CLOCK GET", "5011"}})
	popper := client(t, srv)
	popper.Send("BLPOP", "l", "0.02")
	eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 1 }, "it waits")
	srv.TestClock().Resume()
	require.Equal(t, "*nil", popper.Receive().String(), "the clock goes")
	draw := func() (drawn string) {
		for range 5 {
			c.Do("FLUSHALL")
			c.Do("SADD", "s", "a", "b", "c", "d", "e", "f")
			drawn += fmt.Sprint(c.Do("SPOP", "s", "3"))
		}
		return drawn
	}
	says(t, c, [][2]string{{"TEST.SEED 7", "+OK"}})
	first := draw()
	require.NotEqual(t, first, draw())
	says(t, c, [][2]string{{"TEST.SEED 7", "+OK"}})
	require.Equal(t, first, draw())
}

// Clients that move the clock at the same time do not stand in each other's way.
func TestManyMoveTheClock(t *testing.T) {
	t.Parallel()
	srv := inTestMode(t)
	c := testkit.Dial(t, overPort(srv))
	c.Do("TEST.CLOCK", "FREEZE", "1000")
	var group sync.WaitGroup
	for _, words := range [][]string{{"TEST.CLOCK", "ADVANCE", "10"}, {"TEST.CLOCK", "FREEZE"}, {"TEST.CLOCK", "RESUME"}, {"SET", "a", "1", "PX", "5"}} {
		client := testkit.Dial(t, overPort(srv))
		group.Go(func() {
			for range 300 {
				client.Send(words...)
				client.Receive()
			}
		})
	}
	group.Wait()
	require.Equal(t, "+PONG", c.Do("PING").String())
}
