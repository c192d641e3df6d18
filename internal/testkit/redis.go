package testkit

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Program is the path of a redis-server.
type Program string

// Oracle is the redis-server that everything is compared with: Redis 7.4, or what the variable ORACLE of the
// environment names. The Makefile knows where it was built and sets it.
func Oracle(t testing.TB) Program {
	t.Helper()
	path := os.Getenv("ORACLE")
	if path == "" {
		t.Fatal("ORACLE names no redis-server to compare with: use the Makefile ('make diff'), or set ORACLE=path")
	}
	path, err := exec.LookPath(path)
	if err != nil {
		t.Fatalf("ORACLE: %v: run 'make deps', or set ORACLE=path", err)
	}
	return Program(path)
}

// Installed is the redis-server in PATH, which is another version than Oracle: Debian's is 7.0. It is there
// for the files that people bring along, and take back.
func Installed(t testing.TB) Program {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("there is no redis-server in PATH: run 'make deps'")
	}
	return Program(path)
}

// EachProgram runs a test with Oracle and with Installed, as subtests: files have to be read by both and from
// both. Where the variable OTHERS of the environment names programs, with colons between them, these take
// their place.
func EachProgram(t *testing.T, test func(t *testing.T, p Program)) {
	t.Helper()
	if others := os.Getenv("OTHERS"); others != "" {
		for _, path := range filepath.SplitList(others) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				found, err := exec.LookPath(path)
				require.NoError(t, err, "OTHERS: run 'make deps'")
				test(t, Program(found))
			})
		}
		return
	}
	t.Run("oracle", func(t *testing.T) { test(t, Oracle(t)) })
	t.Run("installed", func(t *testing.T) { test(t, Installed(t)) })
}

var versionText = regexp.MustCompile(`\bv=(\d+)\.`)

// Major is the first number of the program's version. Valkey counts on from Redis 7.2.
func (p Program) Major(t testing.TB) int {
	t.Helper()
	out, err := exec.Command(string(p), "--version").Output()
	require.NoError(t, err, p)
	m := versionText.FindSubmatch(out)
	require.NotNil(t, m, "%s", out)
	n, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return n
}

// Tool is the path of a program that comes with this redis-server, such as redis-check-rdb.
func (p Program) Tool(name string) string { return filepath.Join(filepath.Dir(string(p)), name) }

// Redis is a real redis-server that belongs to a test.
type Redis struct {
	// Dir is its working directory, Socket the unix socket that it listens on.
	Dir, Socket string

	t       testing.TB
	process *exec.Cmd
	end     sync.Once
}

// ticks is how often a second Redis looks whose wait is over. By default that is 10 times, and a client
// that waits for a millisecond gets its answer after a hundred.
const ticks = "500"

// StartRedis starts the oracle. Where there is none, the test fails and says what to do.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	return Oracle(t).Start(t, args...)
}

// Start starts a redis-server with empty databases, no persistence and no TCP port, for the length of
// the test. args are added to its command line ("--requirepass", "x") and win over what this says.
func (p Program) Start(t testing.TB, args ...string) *Redis {
	t.Helper()
	return p.run(t, func(r *Redis, log string) []string {
		return append([]string{"--port", "0", "--unixsocket", r.Socket, "--save", "",
			"--appendonly", "no", "--hz", ticks, "--dir", r.Dir, "--logfile", log}, args...)
	})
}

// StartSentinel starts the oracle as a Sentinel on a port of this machine; conf is its configuration file, to
// which it writes.
func StartSentinel(t testing.TB, conf string, port int) *Redis {
	t.Helper()
	return Oracle(t).run(t, func(r *Redis, log string) []string {
		return []string{conf, "--sentinel", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--unixsocket", r.Socket, "--dir", r.Dir,
			"--logfile", log}
	})
}

// run starts a redis-server and waits until it listens. argsOf makes its command line.
func (p Program) run(t testing.TB, argsOf func(r *Redis, log string) []string) *Redis {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // t.TempDir may be too long for a socket's name
	require.NoError(t, err)
	r := &Redis{Dir: dir, Socket: filepath.Join(dir, "s"), t: t}
	logPath := filepath.Join(dir, "redis.log")
	r.process = exec.Command(string(p), argsOf(r, logPath)...)
	require.NoError(t, StartChild(r.process))
	t.Cleanup(func() {
		r.Stop()
		_ = os.RemoveAll(dir)
	})
	deadline := time.Now().Add(defaultTimeout)
	for {
		conn, err := r.Dial()
		if err == nil {
			_ = conn.Close()
			return r
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(logPath)
			t.Fatalf("redis-server did not start: %v\n%s", err, log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Dial returns a new connection.
func (r *Redis) Dial() (net.Conn, error) { return net.Dial("unix", r.Socket) }

// Client returns a client on a new connection.
func (r *Redis) Client(t testing.TB) *Client {
	t.Helper()
	return Dial(t, r.Dial)
}

// Stop ends the server at once and waits for it. It may be called more than once.
func (r *Redis) Stop() {
	r.end.Do(func() {
		_ = r.process.Process.Kill()
		_ = r.process.Wait() // reports the kill
	})
}
