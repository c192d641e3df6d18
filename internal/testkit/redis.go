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
	*Process
	Socket string // the unix socket that it listens on, in Dir
}

// ticks is how often a second Redis checks for expired waits. By default that is 10 times, and a client that
// waits for a millisecond gets its answer after a hundred.
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
	return p.start(t, nil, append([]string{"--port", "0", "--save", "", "--appendonly", "no", "--hz", ticks}, args...))
}

// StartSentinel starts the oracle as a Sentinel on a port of this machine; conf is its configuration file, to
// which it writes.
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
