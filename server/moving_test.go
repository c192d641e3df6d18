package server

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// slowTarget is a target of MIGRATE that answers when the test says so.
type slowTarget struct {
	port  string
	asked chan []string // each RESTORE
	go_   chan string   // what it is answered
}

// newSlowTarget makes one. It ends with the test.
func newSlowTarget(t *testing.T) *slowTarget {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &slowTarget{asked: make(chan []string, 10), go_: make(chan string, 10)}
	_, s.port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { close(done); _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c, done)
		}
	}()
	return s
}

func (s *slowTarget) serve(c net.Conn, done chan struct{}) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		v, err := resp.ReadValue(in)
		if err != nil {
			return
		}
		var argv []string
		for _, e := range v.Elems {
			argv = append(argv, e.Str)
		}
		answer := "+OK\r\n"
		if argv[0] != "SELECT" {
			s.asked <- argv
			select {
			case answer = <-s.go_:
			case <-done:
				return
			}
		}
		if _, err := c.Write([]byte(answer)); err != nil || answer == "" {
			return
		}
	}
}

// migrateTo is a MIGRATE of keys that waits long.
func (s *slowTarget) migrate(keys ...string) []string {
	return append([]string{"MIGRATE", "127.0.0.1", s.port, "", "0", "60000", "KEYS"}, keys...)
}

// While a key is on its way others go on, and what they change is not lost (D170).
func TestMigrateOfAKeyThatChanges(t *testing.T) {
	t.Parallel()
	for change, left := range map[string]string{
		"SET k 2": `"2"`, "APPEND k 2": `"12"`, "DEL k": "$nil", "FLUSHALL": "$nil", "FLUSHDB": "$nil", "SWAPDB 0 1": "$nil",
		"PEXPIRE k 1000000": `"1"`, "RENAME j k": `"other"`,
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			srv, to := start(t, Options{}), newSlowTarget(t)
			c, other := client(t, srv), client(t, srv)
			other.Do("MSET", "k", "1", "same", "1", "j", "other")
			c.Send(to.migrate("same", "k")...)
			require.Equal(t, "same", (<-to.asked)[1])
			to.go_ <- "+OK\r\n"
			require.Equal(t, "k", (<-to.asked)[1])
			require.False(t, other.Do(strings.Fields(change)...).IsError())
			to.go_ <- "+OK\r\n"
			require.Equal(t, "-"+commands.ErrMigrateKept.Error(), c.Receive().String())
			require.Equal(t, left, other.Do("GET", "k").String())
			require.Equal(t, "$nil", other.Do("GET", "same").String())
			require.Equal(t, "+PONG", c.Do("PING").String())
		})
	}
}

// A lock that is released while it is on its way is free here.
func TestMigrateOfALockThatIsReleased(t *testing.T) {
	t.Parallel()
	srv, to := start(t, Options{}), newSlowTarget(t)
	c, alice := client(t, srv), client(t, srv)
	token := alice.Do("LOCK", "door", "alice", "PX", "1000000").Int
	c.Send(to.migrate("door")...)
	<-to.asked
	require.Equal(t, int64(1), alice.Do("UNLOCK", "door", "alice").Int)
	require.Greater(t, alice.Do("LOCK", "door", "bob", "PX", "1000000").Int, token)
	to.go_ <- "+OK\r\n"
	require.Equal(t, "-"+commands.ErrMigrateKept.Error(), c.Receive().String())
	require.Equal(t, int64(1), alice.Do("UNLOCK", "door", "bob").Int)
}

// Whatever becomes of the client, what the target has got is removed.
func TestMigrateOfAClientThatGoes(t *testing.T) {
	t.Parallel()
	srv, to := start(t, Options{}), newSlowTarget(t)
	c, other := client(t, srv), client(t, srv)
	other.Do("SET", "k", "1")
	c.Send(to.migrate("k")...)
	<-to.asked
	c.Close()
	eventually(t, func() bool { return srv.parked() == 0 }, "it has gone")
	to.go_ <- "+OK\r\n"
	eventually(t, func() bool { return other.Do("EXISTS", "k").Int == 0 }, "the key has gone")
}

// CLIENT UNBLOCK ends the wait, and not the move.
func TestMigrateIsUnblocked(t *testing.T) {
	t.Parallel()
	srv, to := start(t, Options{}), newSlowTarget(t)
	c, other := client(t, srv), client(t, srv)
	other.Do("SET", "k", "1")
	id := c.Do("CLIENT", "ID").Int
	c.Send(to.migrate("k")...)
	<-to.asked
	require.Equal(t, int64(1), other.Do("CLIENT", "UNBLOCK", strconv.FormatInt(id, 10)).Int)
	require.Equal(t, "-"+commands.ErrMigrateRead.Error(), c.Receive().String())
	to.go_ <- "+OK\r\n"
	eventually(t, func() bool { return other.Do("EXISTS", "k").Int == 0 }, "the key has gone")
	require.Equal(t, "+PONG", c.Do("PING").String())
}

// While writes are paused nothing is removed; a replica removes nothing.
func TestMigrateUnderAPause(t *testing.T) {
	t.Parallel()
	for _, becomes := range []string{"CLIENT UNPAUSE", "REPLICAOF 127.0.0.1 1"} {
		t.Run(becomes, func(t *testing.T) {
			t.Parallel()
			srv, to := start(t, Options{}), newSlowTarget(t)
			c, other := client(t, srv), client(t, srv)
			other.Do("SET", "k", "1")
			c.Send(to.migrate("k")...)
			<-to.asked
			other.Do("CLIENT", "PAUSE", "1000000", "WRITE")
			to.go_ <- "+OK\r\n"
			eventually(t, func() bool {
				srv.executor.Mu.Lock()
				defer srv.executor.Mu.Unlock()
				return srv.executor.Pausing.WaitingUnits() == 1
			}, "it waits")
			require.Equal(t, int64(1), other.Do("EXISTS", "k").Int)
			require.Equal(t, "+OK", other.Do(strings.Fields(becomes)...).String())
			if becomes != "CLIENT UNPAUSE" {
				require.True(t, strings.HasPrefix(c.Receive().String(), "-UNBLOCKED"))
				other.Do("CLIENT", "UNPAUSE")
				eventually(t, func() bool { return !srv.executor.movingNow() }, "it is over")
				require.Equal(t, int64(1), other.Do("EXISTS", "k").Int)
				return
			}
			require.Equal(t, "+OK", c.Receive().String())
			require.Equal(t, int64(0), other.Do("EXISTS", "k").Int)
		})
	}
}

// movingNow reports whether keys are on their way.
func (ex *executor) movingNow() bool {
	ex.Mu.Lock()
	defer ex.Mu.Unlock()
	return ex.dump.Watches()
}

// A transaction stands still, but not for longer than its timeout (D170); the key stays.
func TestMigrateInATransaction(t *testing.T) {
	t.Parallel()
	srv, to := start(t, Options{}), newSlowTarget(t)
	c := client(t, srv)
	c.Do("SET", "k", "1")
	c.Do("MULTI")
	c.Do("MIGRATE", "127.0.0.1", to.port, "k", "0", "30")
	c.Do("EXISTS", "k")
	require.Regexp(t, `^\[-IOERR error or timeout (connecting to the client|writing to target instance|reading to target instance) 1\]$`,
		c.Do("EXEC").String(), "the target never answers: on a busy machine the time ends in an earlier step")
}

// The target speaks another protocol: nothing is removed (D170).
func TestMigrateToNoServer(t *testing.T) {
	t.Parallel()
	srv, to := start(t, Options{}), newSlowTarget(t)
	c := client(t, srv)
	c.Do("SET", "k", "1")
	to.go_ <- "HTTP/1.1 400 Bad Request\r\n"
	require.Equal(t, "-"+commands.ErrMigrateRead.Error(), c.Do(to.migrate("k")...).String())
	require.Equal(t, int64(1), c.Do("EXISTS", "k").Int)
}

// A server ends although a target says nothing.
func TestMigrateOfAServerThatEnds(t *testing.T) {
	t.Parallel()
	srv, to := start(t, Options{}), newSlowTarget(t)
	c := client(t, srv)
	c.Do("SET", "k", "1")
	c.Send(to.migrate("k")...)
	<-to.asked
	require.NoError(t, srv.Close())
}

// Locks move from one lockserver to another: the token holds there, and the next one is above it. What has
// moved is gone after a restart, too.
func TestMigrateOfLocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := start(t, Options{Directives: logged(dir, "always").Directives()})
	to := start(t, Options{})
	_, port, err := net.SplitHostPort(to.Addr().String())
	require.NoError(t, err)
	c, there := client(t, from), client(t, to)
	token := c.Do("LOCK", "door", "alice", "PX", "1000000").Int
	shared := c.Do("LOCK", "hall", "alice", "PX", "1000000", "SHARED").Int
	require.Positive(t, shared)
	require.Equal(t, "+OK", c.Do("MIGRATE", "127.0.0.1", port, "", "0", "10000", "KEYS", "door", "hall").String())
	require.Equal(t, "1", infoField(t, c, "migrate_cached_sockets"))
	require.Equal(t, int64(0), c.Do("EXISTS", "door", "hall").Int)
	require.Equal(t, "$nil", there.Do("LOCK", "door", "bob").String())
	require.Equal(t, int64(1), there.Do("UNLOCK", "door", "alice", "TOKEN", strconv.FormatInt(token, 10)).Int)
	require.Greater(t, there.Do("LOCK", "door", "bob", "PX", "1000").Int, max(token, shared))
	require.Equal(t, int64(1), there.Do("UNLOCK", "hall", "alice").Int)
	require.NoError(t, from.Close())
	again := start(t, Options{Directives: logged(dir, "always").Directives()})
	require.Equal(t, int64(0), client(t, again).Do("DBSIZE").Int)
}

// Nothing is sent before as many replicas as min-replicas-ack says have it.
func TestMigrateWaitsForReplicas(t *testing.T) {
	t.Parallel()
	srv, to := start(t, Options{Directives: map[string]string{"min-replicas-ack": "1"}}), newSlowTarget(t)
	c, other, admin := client(t, srv), client(t, srv), client(t, srv)
	c.Send("SET", "k", "1")
	c.Send(to.migrate("k")...)
	eventually(t, func() bool { return srv.parked() == 1 }, "it waits")
	require.Equal(t, "+PONG", admin.Do("PING").String())
	require.Empty(t, to.asked)
	require.Equal(t, "+OK", admin.Do("CONFIG", "SET", "min-replicas-ack", "0").String())
	require.Equal(t, "+OK", c.Receive().String())
	require.Equal(t, "k", (<-to.asked)[1])
	to.go_ <- "+OK\r\n"
	require.Equal(t, "+OK", c.Receive().String())
	require.Equal(t, int64(0), other.Do("EXISTS", "k").Int)
}

// No password is shown.
func TestMigrateHidesPasswords(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	c, watch := client(t, srv), client(t, srv)
	watch.Do("MONITOR")
	for _, line := range []string{"MIGRATE h 1 k 0 1 COPY AUTH secret", "MIGRATE h 1 k 0 1 AUTH2 secret secret REPLACE", "MIGRATE h 1 k 0 1 AUTH secret KEYS x"} {
		c.Do(strings.Fields(line)...)
		shown := watch.Receive().String()
		require.Contains(t, shown, "(redacted)", testkit.Line(strings.Fields(line)))
		require.NotContains(t, shown, "secret")
	}
}
