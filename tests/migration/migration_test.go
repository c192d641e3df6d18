//go:build oracle

package migration

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// redisson is the program in redisson/. It reads a command from each line and replies with a line.
type redisson struct {
	t   *testing.T
	in  io.Writer
	out chan string
}

// startRedisson starts the program at an address.
func startRedisson(t *testing.T, addr string) *redisson {
	t.Helper()
	dir := filepath.Join("redisson", "target")
	libraries, err := os.ReadFile(filepath.Join(dir, "classpath"))
	require.NoError(t, err, "it is not compiled: use the Makefile ('make migration')")
	path := filepath.Join(dir, "classes") + string(filepath.ListSeparator) + strings.TrimSpace(string(libraries))
	out, write := io.Pipe()
	p := testkit.Prepare(t, testkit.Command{Program: "java", Dir: ".", Args: []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-cp", path,
		"lockserver.migration.Move", "redis://" + addr, password}, Copy: write})
	require.NoError(t, p.Launch())
	r := &redisson{t: t, in: p.Input, out: make(chan string)}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			r.out <- s.Text()
		}
	}()
	return r
}

// javaPatience is how long the program waits for each event that comes by itself (Move.PATIENCE_MS).
const javaPatience = 3 * time.Minute

// do sends a command to the program, and returns the text after ok.
func (r *redisson) do(what string) string {
	r.t.Helper()
	_, err := io.WriteString(r.in, what+"\n")
	require.NoError(r.t, err)
	select {
	case answer := <-r.out:
		rest, ok := strings.CutPrefix(answer, "ok")
		require.True(r.t, ok, "Redisson, %s: %s", what, answer)
		return rest
	case <-time.After(3 * javaPatience):
		require.Fail(r.t, "Redisson does not answer", what)
		return ""
	}
}

// moving holds a Redis, the lockserver that takes its place, and the clients that move.
type moving struct {
	t        *testing.T
	door     *door
	redisson *redisson
	load     *load
}

// TestMoving moves clients from a Redis to a lockserver and back, by FAILOVER.
func TestMoving(t *testing.T) {
	testkit.EachProgram(t, func(t *testing.T, p testkit.Program) {
		t.Parallel()
		move(t, p, (*moving).failOver)
	})
}

// TestMovingSimply moves them by a pause and REPLICAOF, which Redis had before FAILOVER.
func TestMovingSimply(t *testing.T) {
	t.Parallel()
	move(t, testkit.Installed(t), (*moving).promote)
}

// move moves the clients there and back.
func move(t *testing.T, p testkit.Program, change func(m *moving, from, to *server)) {
	redis := startRedis(t, p)
	m := &moving{t: t, door: openDoor(t, redis.addr())}
	m.redisson = startRedisson(t, m.door.addr())
	m.redisson.do("hold")
	m.redisson.do("load")
	m.load = startLoad(t, m.door.addr())
	library := "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
	require.Equal(t, `"lib"`, redis.Do("FUNCTION", "LOAD", library).String())

	lockserver := startLockserver(t)
	lockserver.follow(redis)
	compare(t, redis, lockserver)
	m.step("there", redis, lockserver, change)
	m.step("back", lockserver, redis, change)

	m.redisson.do("release")
	t.Logf("Redisson: %s", m.redisson.do("stop"))
	m.load.check()
}

// step moves the clients once, and checks everything.
func (m *moving) step(way string, from, to *server, change func(m *moving, from, to *server)) {
	m.t.Helper()
	snapshots, begun := to.info("sync_full"), time.Now()
	change(m, from, to)
	m.t.Logf("%s: clients were without a master for %d ms at most", way, time.Since(begun).Milliseconds())
	m.load.goesOn()
	m.redisson.do("check")
	inStep(m.t, to, from)
	compare(m.t, to, from)
	require.Equal(m.t, snapshots, to.info("sync_full"), "the old one needed a snapshot")
	require.Equal(m.t, "1", to.Do("FCALL", "f", "0").String())
}

// failOver makes the servers change places by FAILOVER.
func (m *moving) failOver(from, to *server) {
	from.ok("FAILOVER", "TO", "127.0.0.1", to.port, "TIMEOUT", milliseconds(patience))
	eventually(m.t, "they have changed places", func() bool { return to.info("role") == "master" && from.info("role") == "slave" })
	m.door.turn(to.addr())
}

// promote does the same by hand.
func (m *moving) promote(from, to *server) {
	from.ok("CLIENT", "PAUSE", milliseconds(2*patience), "WRITE") // ended below
	eventually(m.t, "the replica has everything", func() bool { return to.offset() == from.offset() })
	to.ok("REPLICAOF", "NO", "ONE")
	from.ok("REPLICAOF", "127.0.0.1", to.port)
	m.door.turn(to.addr())
	from.ok("CLIENT", "UNPAUSE")
}
