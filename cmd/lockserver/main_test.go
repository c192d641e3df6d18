package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestMain(m *testing.M) {
	testkit.ManyAtOnce()
	os.Exit(testkit.Main(m.Run))
}

// child is a running program.
type child struct{ *testkit.Process }

// start runs the program in dir and ends it with the test.
func start(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	return runChild(t, testkit.Command{Program: testkit.Lockserver(t), Args: args, Dir: dir})
}

// runChild starts a program and does not wait for it.
func runChild(t *testing.T, command testkit.Command) *child {
	t.Helper()
	c := &child{testkit.Prepare(t, command)}
	require.NoError(t, c.Launch())
	return c
}

// startReady runs the program on a free port in dir and returns it with the address from its log.
func startReady(t *testing.T, dir string, args ...string) (*child, string) {
	t.Helper()
	c := start(t, dir, append([]string{"--port", "0"}, args...)...)
	return c, c.ready(t)
}

// ready waits until the program reports its address.
func (c *child) ready(t *testing.T) string {
	t.Helper()
	require.NoError(t, c.AwaitReady())
	return c.Address()
}

func (c *child) eventually(t *testing.T, ok func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "waited too long for: %s", what)
		if c.Ended() {
			require.True(t, ok(), "the program has ended without: %s", what)
			return
		}
	}
}

// exit waits for the program's end and returns its code.
func (c *child) exit(t *testing.T) int {
	t.Helper()
	code, err := c.Wait()
	require.NoError(t, err)
	return code
}

// ask sends inline commands, one a connection, and returns the first line of each
// reply, or the second for a bulk.
func ask(t *testing.T, addr string, lines ...string) (replies []string) {
	t.Helper()
	network := "tcp"
	if strings.Contains(addr, "/") {
		network = "unix"
	}
	for _, line := range lines {
		conn, err := net.Dial(network, addr)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "%s\r\n", line)
		require.NoError(t, err)
		r := bufio.NewReader(conn)
		reply, err := r.ReadString('\n')
		if err == nil && reply[0] == '$' && reply[1] != '-' {
			reply, err = r.ReadString('\n')
		}
		require.NoError(t, err, line)
		require.NoError(t, conn.Close())
		replies = append(replies, strings.TrimSpace(reply))
	}
	return replies
}

func TestHelpAndVersion(t *testing.T) {
	for _, flag := range []string{"--help", "-h"} {
		c := start(t, t.TempDir(), flag)
		require.Zero(t, c.exit(t))
		require.Contains(t, c.Stdout.String(), "Usage: lockserver [redis.conf]")
	}
	for _, flag := range []string{"--version", "-v"} {
		c := start(t, t.TempDir(), flag)
		require.Zero(t, c.exit(t))
		require.Regexp(t, `^Redis server v=7\.4\.1 sha=\w+:0 malloc=go bits=64 build=\S+\nlockserver v=\d+\.\d+\.\d+ commit=[\w-]+ date=\S+ go\S+ \w+/\w+\n$`, c.Stdout.String())
	}
}

func TestWhatCannotBeConfiguredIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.conf"), []byte("hz 10\n\nfoo bar\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "value.conf"), []byte("port 70000"), 0o644))
	for want, args := range map[string][]string{
		"Reading the command line\n>>> '--foo (hidden)'\nunknown directive 'foo'\nTry: lockserver --help":      {"--foo", "1"},
		"Reading the command line\n>>> '-p'\nunknown argument '-p'":                                            {"-p", "1"},
		">>> '--port x'\nargument couldn't be parsed into an integer":                                          {"--port", "x"},
		"Reading the configuration file, at line 3 of bad.conf\n>>> 'foo (hidden)'\nunknown directive 'foo'\n": {"bad.conf", "--port", "0"},
		"at line 1 of value.conf\n>>> 'port 70000'\nargument must be between 0 and 65535 inclusive\n":          {"value.conf"},
		">>> 'nothing.conf'\ncan't open the configuration file: open nothing.conf: ":                           {"nothing.conf"},
		"dir '/no/such': ":          {"--dir", "/no/such"},
		"logfile 'no/such/x.log': ": {"--logfile", "no/such/x.log"},
	} {
		c := start(t, dir, args...)
		require.Equal(t, 1, c.exit(t), args)
		require.Contains(t, c.Stderr.String(), want)
		require.Contains(t, c.Stderr.String(), "*** FATAL CONFIG FILE ERROR (lockserver ")
		require.Empty(t, c.Stdout.String())
	}
}

func TestPortInUseIsOneClearLine(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	c := start(t, t.TempDir(), "--port", port)
	require.Equal(t, 1, c.exit(t))
	lines := strings.Split(strings.TrimSpace(c.Stdout.String()), "\n")
	require.Contains(t, lines[len(lines)-1], "# Could not start cause=\"Could not create server TCP listening socket 127.0.0.1:"+port+": bind: ")
	require.Contains(t, lines[len(lines)-1], "in use")
	require.Contains(t, lines[len(lines)-2], "# Failed listening on port "+port+" (tcp), aborting.")
	require.Len(t, lines, 5, "the start in three lines, and why it failed")
	require.Empty(t, c.Stderr.String())
}

func TestBareProgramSaysWhatItDoes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c := start(t, dir)
	want := "Nothing configured: listening on 127.0.0.1:6379, saving to " + filepath.Join(dir, "dump.rdb") + "\n"
	// Whether the port is free on this machine does not matter.
	c.eventually(t, func() bool { return strings.Contains(c.Stdout.String(), want) }, want)
}

func TestSIGTERMSavesAndTheNextStartLoads(t *testing.T) {
	dir := t.TempDir()
	c, addr := startReady(t, dir, "--pidfile", "x.pid")
	pid, err := os.ReadFile(filepath.Join(dir, "x.pid"))
	if err != nil {
		c.eventually(t, func() bool { pid, err = os.ReadFile(filepath.Join(dir, "x.pid")); return err == nil }, "pid file")
	}
	require.Equal(t, fmt.Sprintln(c.Pid()), string(pid))
	require.Equal(t, []string{"+PONG", "+OK", "v"}, ask(t, addr, "PING", "SET k v", "GET k"))
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	require.Contains(t, c.Stdout.String(), "# Received SIGTERM scheduling shutdown...\n")
	require.FileExists(t, filepath.Join(dir, "dump.rdb"))
	require.NoFileExists(t, filepath.Join(dir, "x.pid"))

	c, addr = startReady(t, dir)
	require.Equal(t, []string{"v"}, ask(t, addr, "GET k"))
	require.NoError(t, c.Signal(os.Interrupt))
	require.Zero(t, c.exit(t))
	require.Contains(t, c.Stdout.String(), "# Received SIGINT scheduling shutdown...\n")
}

func TestSignalsObeyTheirDirectives(t *testing.T) {
	dir := t.TempDir()
	c, addr := startReady(t, dir, "--shutdown-on-sigterm", "nosave", "--shutdown-on-sigint", "save", "force", "--save", "")
	ask(t, addr, "SET k v")
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	require.NoFileExists(t, filepath.Join(dir, "dump.rdb"))

	c, addr = startReady(t, dir, "--shutdown-on-sigint", "save", "--save", "")
	ask(t, addr, "SET k v")
	require.NoError(t, c.Signal(os.Interrupt))
	require.Zero(t, c.exit(t))
	require.FileExists(t, filepath.Join(dir, "dump.rdb"))
}

func TestServerGoesOnWhenItCannotSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(dir, 0o755))
	c, addr := startReady(t, dir, "--stop-writes-on-bgsave-error", "no")
	ask(t, addr, "SET k v")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, c.Signal(syscall.SIGTERM))
	c.eventually(t, func() bool {
		return strings.Contains(c.Stdout.String(), "# Could not shut down; the server goes on cause=")
	}, "refusal")
	require.Equal(t, []string{"v"}, ask(t, addr, "GET k"), "the data is still there")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	require.FileExists(t, filepath.Join(dir, "dump.rdb"))
}

func TestShutdownCommandEndsTheProgram(t *testing.T) {
	dir := t.TempDir()
	c, addr := startReady(t, dir)
	ask(t, addr, "SET k v")
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "SHUTDOWN NOSAVE\r\n")
	require.Zero(t, c.exit(t))
	require.NoFileExists(t, filepath.Join(dir, "dump.rdb"))
}

func TestDamagedSnapshotIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "dump.rdb")
	damaged := []byte("REDIS0010\xfa\x09redis-ver")
	require.NoError(t, os.WriteFile(path, damaged, 0o644))
	c := start(t, dir, "--port", "0")
	require.Equal(t, 1, c.exit(t))
	require.Regexp(t, `# Could not start cause=".*dump\.rdb.*"\n$`, c.Stdout.String())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, damaged, data)
}

func TestLogFile(t *testing.T) {
	dir := t.TempDir()
	c := runChild(t, testkit.Command{Program: testkit.Lockserver(t), Args: []string{"--port", "0", "--logfile", "x.log", "--jemalloc-bg-thread", "yes"},
		Dir: dir, LogFile: filepath.Join(dir, "x.log")})
	addr := c.ready(t)
	require.Contains(t, c.Log(), "These directives were accepted but have no effect here: jemalloc-bg-thread\n")
	require.NoError(t, c.Signal(syscall.SIGHUP))
	require.Equal(t, []string{"+PONG"}, ask(t, addr, "PING"), "a hang-up ends nothing")
	require.Empty(t, c.Stdout.String()+c.Stderr.String())
}

func TestLogLevel(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	c := start(t, dir, "--port", "0", "--unixsocket", socket, "--loglevel", "warning")
	c.eventually(t, func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			err = conn.Close()
		}
		return err == nil
	}, "the socket")
	c.eventually(t, func() bool { return slices.Equal([]string{"+PONG"}, ask(t, socket, "PING")) }, "it has loaded")
	require.Empty(t, c.Stdout.String())
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	// It may answer a moment before its start is over, and then names the signal otherwise.
	require.Regexp(t, `# Received (SIGTERM scheduling shutdown|shutdown signal during loading)`, c.Stdout.String())
	require.NotContains(t, c.Stdout.String(), " * ")
}

func TestUnixSocketOnly(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	c, addr := startReady(t, dir, "--unixsocket", filepath.Join(dir, "s"), "--unixsocketperm", "700")
	require.Equal(t, filepath.Join(dir, "s"), addr)
	require.Equal(t, []string{"+PONG"}, ask(t, addr, "PING"))
	info, err := os.Stat(addr)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, c.Signal(syscall.SIGTERM))
	require.Zero(t, c.exit(t))
	require.NoFileExists(t, addr)
}

func TestConfigFileIsRewrittenWhereItLies(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.conf"), []byte("# mine\ndir data\nport 0\nhz 10\n"), 0o644))
	c := start(t, dir, "x.conf")
	addr := c.ready(t)
	require.Equal(t, []string{"+OK", "+OK"}, ask(t, addr, "CONFIG SET hz 77", "CONFIG REWRITE"))
	data, err := os.ReadFile(filepath.Join(dir, "x.conf"))
	require.NoError(t, err)
	require.Contains(t, string(data), "# mine\n")
	require.Contains(t, string(data), "\nhz 77\n")
}

// socketDir is a directory with a path short enough for a socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ls")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
