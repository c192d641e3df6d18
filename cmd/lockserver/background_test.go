//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestDaemonize: the command ends when clients can connect, and leaves a process in a session of its own.
func TestDaemonize(t *testing.T) {
	dir := socketDir(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "redis.conf"), []byte("daemonize yes\nport 0\nunixsocket s\nlogfile log\n"), 0o600))
	for name, how := range map[string]struct {
		args  []string
		input string
	}{
		"by a file":           {args: []string{"redis.conf", "--pidfile", "x.pid"}},
		"by standard input":   {args: []string{"-"}, input: "daemonize yes\nport 0\nunixsocket s\npidfile x.pid\n"},
		"without a directory": {args: []string{"redis.conf", "--dir", dir, "--pidfile", filepath.Join(dir, "x.pid")}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, dir, how.args...)
			_, err := io.WriteString(c.Input, how.input)
			require.NoError(t, err)
			require.NoError(t, c.Input.Close())
			require.Zero(t, c.exit(t), c.Log())
			require.Empty(t, c.Log())
			text, err := os.ReadFile(filepath.Join(dir, "x.pid"))
			require.NoError(t, err, "the file is there when the command ends")
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			require.NotEqual(t, c.Pid(), pid)
			require.Eventually(t, func() bool { return ask(t, filepath.Join(dir, "s"), "PING")[0] == "+PONG" },
				time.Minute, time.Millisecond, "until then it loads")
			require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
			require.Eventually(t, func() bool {
				_, err := os.Stat(filepath.Join(dir, "x.pid"))
				return os.IsNotExist(err)
			}, time.Minute, 5*time.Millisecond)
			waitForEnd(t, dir)
		})
	}
}

// waitForEnd waits until no process writes to a directory any more.
func waitForEnd(t *testing.T, dir string) {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(dir, "lockserver.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Close()) }()
	require.Eventually(t, func() bool { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil },
		time.Minute, 5*time.Millisecond)
}

// TestDaemonThatCannotStart: the command says why, and its exit code is 1.
func TestDaemonThatCannotStart(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	for want, args := range map[string][]string{
		"dir '/no/such': ": {"--dir", "/no/such"},
		"Could not create server TCP listening socket 127.0.0.1:" + port + ": bind: Address already in use\n": {"--port", port},
	} {
		c := start(t, t.TempDir(), append([]string{"--daemonize", "yes"}, args...)...)
		require.Equal(t, 1, c.exit(t))
		require.Contains(t, c.Stderr.String(), want)
	}
}

// supervisedBy starts the program with a variable in its environment.
func supervisedBy(t *testing.T, dir, variable string, args ...string) *child {
	t.Helper()
	t.Setenv(strings.SplitN(variable, "=", 2)[0], strings.SplitN(variable, "=", 2)[1])
	return start(t, dir, append([]string{"--port", "0", "--daemonize", "yes"}, args...)...)
}

// TestSystemdIsNotified, in the foreground although daemonize says yes: who supervises a process wants to
// keep it.
func TestSystemdIsNotified(t *testing.T) {
	for _, mode := range []string{"systemd", "auto"} {
		dir := socketDir(t)
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		hears := func(want string) {
			t.Helper()
			b := make([]byte, 1000)
			n, err := conn.Read(b)
			require.NoError(t, err)
			require.Equal(t, want, string(b[:n]))
		}
		c := supervisedBy(t, dir, "NOTIFY_SOCKET="+filepath.Join(dir, "notify"), "--supervised", mode, "--save", "900 1")
		hears("STATUS=Redis is loading...\n")
		hears("STATUS=Ready to accept connections\n")
		hears("READY=1\n")
		require.NoError(t, c.Signal(syscall.SIGTERM))
		hears("STOPPING=1\n")
		hears("STATUS=Saving the final RDB snapshot\n")
		require.Zero(t, c.exit(t))
		require.Contains(t, c.Stdout.String(), "Supervised by systemd.")
	}
	t.Setenv(notifySocket, "")
	c, addr := startReady(t, t.TempDir(), "--supervised", "systemd")
	require.Equal(t, []string{"+PONG"}, ask(t, addr, "PING"))
	require.Contains(t, c.Stdout.String(), "# systemd supervision error: NOTIFY_SOCKET not found!\n")
}

func TestUpstartIsNotified(t *testing.T) {
	c := supervisedBy(t, t.TempDir(), "UPSTART_JOB=redis", "--supervised", "auto")
	c.eventually(t, func() bool {
		state, err := exec.Command("ps", "-o", "state=", "-p", fmt.Sprint(c.Pid())).Output()
		return err == nil && strings.HasPrefix(string(state), "T")
	}, "that it stops")
	require.NotContains(t, c.Stdout.String(), "Ready to accept")
	require.NoError(t, c.Signal(syscall.SIGCONT))
	require.Equal(t, []string{"+PONG"}, ask(t, c.ready(t), "PING"))
}

// TestModesOfFiles are those of Redis: what the mask leaves of them; only the owner may read the token's
// file.
func TestModesOfFiles(t *testing.T) {
	for mask, want := range map[string][2]os.FileMode{"022": {0o644, 0o644}, "077": {0o600, 0o600}, "002": {0o664, 0o644}} {
		dir := socketDir(t)
		c := runChild(t, testkit.Command{Program: "sh", Args: []string{"-c", "umask " + mask + `; exec "$@"`, "sh", testkit.Lockserver(t), "--port", "0",
			"--unixsocket", "s", "--appendonly", "yes", "--logfile", "log", "--pidfile", "pid"}, Dir: dir, LogFile: filepath.Join(dir, "log")})
		c.ready(t)
		require.Equal(t, []string{"+OK", "+OK"}, ask(t, filepath.Join(dir, "s"), "SET a 1", "SAVE"))
		for name, mode := range map[string]os.FileMode{"dump.rdb": want[0], "log": want[0], "pid": want[0], "lockserver.token": 0o600,
			"appendonlydir/appendonly.aof.1.incr.aof": want[1], "appendonlydir/appendonly.aof.manifest": want[1]} {
			info, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm(), "%s under umask %s", name, mask)
		}
	}
}
