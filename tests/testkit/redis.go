package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is the path of a redis-server.
type Program string

// Oracle returns the redis-server that tests compare with: Redis 7.4, or the program in the environment
// variable ORACLE. The Makefile sets ORACLE to the program that it has built.
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

// Installed returns the redis-server in PATH, which is another version than Oracle: Debian's is 7.0. It shows
// that users can bring their files from it, and take them back.
func Installed(t testing.TB) Program {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("there is no redis-server in PATH: run 'make deps'")
	}
	return Program(path)
}

// EachProgram runs a test with Oracle and with Installed, as subtests: both must read our files, and we must
// read theirs. If the environment variable OTHERS lists programs, with colons between them, these are used
// instead.
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

// Tool returns the path of a program that comes with this redis-server, such as redis-check-rdb.
func (p Program) Tool(name string) string { return filepath.Join(filepath.Dir(string(p)), name) }

// Redis is a real redis-server that belongs to a test.
type Redis struct {
	*Process
	Socket string // the unix socket that it listens on, in Dir
}

// ticks is how often in a second Redis checks for expired waits. The default is 10, and then a client that
// waits for a millisecond gets its answer after a hundred.
const ticks = "500"

// StartRedis starts the oracle. If there is no oracle, the test fails and says what to do.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	return Oracle(t).Start(t, args...)
}

// Start starts a redis-server with empty databases, without persistence and without a TCP port, until the end
// of the test. args are added to its command line ("--requirepass", "x"), and override the options that Start
// sets.
func (p Program) Start(t testing.TB, args ...string) *Redis {
	t.Helper()
	return p.start(t, nil, append([]string{"--port", "0", "--save", "", "--appendonly", "no", "--hz", ticks}, args...))
}

// StartSentinel starts the oracle as a Sentinel on a port of this machine. conf is its configuration file,
// which the Sentinel rewrites.
func StartSentinel(t testing.TB, conf string, port int) *Redis {
	t.Helper()
	return Oracle(t).start(t, []string{conf, "--sentinel"}, []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1"})
}

// start starts a redis-server and waits until it answers on its socket.
func (p Program) start(t testing.TB, first, args []string) *Redis {
	t.Helper()
	r := &Redis{Process: Prepare(t, Command{Program: string(p)})}
	r.Socket = filepath.Join(r.Dir, "s")
	r.Addr, r.Args = r.Socket, slices.Concat(first, []string{"--unixsocket", r.Socket, "--dir", r.Dir}, args)
	require.NoError(t, r.Process.Start())
	return r
}
