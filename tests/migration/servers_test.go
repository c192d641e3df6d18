//go:build oracle

package migration

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m.Run)) }

const password = "secret"

// patience is the longest time for an event that comes by itself.
const patience = 90 * time.Second

// milliseconds returns a duration as an argument of a command.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(t, "it did not come to that: "+what)
		}
	}
}

// server is a server of either kind, and the operator's connection to it.
type server struct {
	*testkit.Client
	t    *testing.T
	port string
}

func (s *server) addr() string { return "127.0.0.1:" + s.port }

// directives returns the options of a server. Both servers have the same password, and know the other's,
// because each of them becomes a replica.
func directives(port string) []string {
	return []string{"--port", port, "--bind", "127.0.0.1", "--requirepass", password, "--masterauth", password,
		"--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"}
}

func startRedis(t *testing.T, p testkit.Program) *server {
	t.Helper()
	port := testkit.FreePort(t)
	p.Start(t, directives(port)...)
	return reach(t, port)
}

// startLockserver starts the server program.
func startLockserver(t *testing.T) *server {
	t.Helper()
	port := testkit.FreePort(t)
	testkit.Start(t, testkit.Command{Program: testkit.Lockserver(t), Args: append(directives(port), "--save", ""), Addr: "127.0.0.1:" + port})
	return reach(t, port)
}

func reach(t *testing.T, port string) *server {
	t.Helper()
	c := testkit.Dial(t, func() (net.Conn, error) { return net.Dial("tcp", "127.0.0.1:"+port) })
	c.Timeout = patience
	s := &server{Client: c, t: t, port: port}
	s.ok("AUTH", password)
	return s
}

// ok runs a command that must reply OK.
func (s *server) ok(words ...string) {
	s.t.Helper()
	require.Equal(s.t, "+OK", s.Do(words...).String(), "%v", words)
}

// info returns a field of INFO, or "".
func (s *server) info(field string) string {
	s.t.Helper()
	for line := range strings.Lines(s.Do("INFO", "everything").Str) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value
		}
	}
	return ""
}

func (s *server) offset() int64 {
	s.t.Helper()
	at, err := strconv.ParseInt(s.info("master_repl_offset"), 10, 64)
	require.NoError(s.t, err)
	return at
}

// follow makes the server a replica of another, and waits until it has all data.
func (s *server) follow(master *server) {
	s.t.Helper()
	eventually(s.t, "it has loaded what it has, and follows", func() bool {
		return s.Do("REPLICAOF", "127.0.0.1", master.port).String() == "+OK"
	})
	inStep(s.t, master, s)
}

// inStep waits until the replica's link is up and it has the data that its master had at the time of the
// call.
func inStep(t *testing.T, master, replica *server) {
	t.Helper()
	at := master.offset()
	eventually(t, "the replica is in step", func() bool {
		return replica.info("master_link_status") == "up" && replica.offset() >= at
	})
}

// compare delays writes for a moment, and compares the two servers.
func compare(t *testing.T, master, replica *server) {
	t.Helper()
	master.ok("CLIENT", "PAUSE", milliseconds(2*patience), "WRITE") // ended below
	same := func() bool {
		return master.offset() == replica.offset() &&
			master.Do("DEBUG", "DIGEST").String() == replica.Do("DEBUG", "DIGEST").String()
	}
	for end := time.Now().Add(patience); !same(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			differences := testkit.ReadDataset(master.Client).Diff(testkit.ReadDataset(replica.Client), 0)
			require.Fail(t, "they differ (the master's first):\n"+strings.Join(differences, "\n"))
		}
	}
	master.ok("CLIENT", "UNPAUSE")
}
