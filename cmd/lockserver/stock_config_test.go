//go:build oracle && unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// stockRun is a server that was started by a file that comes with Redis.
type stockRun struct {
	dir string
	pid int
	*testkit.Client
}

// startStock starts a program by a file; the command line names other paths and no port, so that it needs no
// rights.
func startStock(t *testing.T, program, file string) *stockRun {
	t.Helper()
	run := &stockRun{dir: socketDir(t)}
	in := func(name string) string { return filepath.Join(run.dir, name) }
	p := testkit.Prepare(t, testkit.Command{Program: program, Dir: run.dir, LogFile: in("log"),
		Args: []string{file, "--port", "0", "--unixsocket", in("s"), "--dir", run.dir, "--pidfile", in("pid"), "--logfile", in("log")}})
	require.NoError(t, p.Launch()) // it ends at once if the file says daemonize
	t.Cleanup(func() {
		if run.pid != 0 {
			_ = syscall.Kill(run.pid, syscall.SIGKILL)
		}
	})
	ready := func() bool {
		text, _ := os.ReadFile(in("pid"))
		run.pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		conn, err := net.Dial("unix", in("s"))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil && run.pid != 0
	}
	for end := time.Now().Add(time.Minute); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			require.Fail(t, "it does not start", "%s by %s", program, file)
		}
	}
	run.Client = testkit.Dial(t, func() (net.Conn, error) { return net.Dial("unix", in("s")) })
	return run
}

// stop has it save what there is and end.
func (run *stockRun) stop(t *testing.T) {
	t.Helper()
	require.Equal(t, "+OK", run.Do("SET", "k", "v").String())
	_, err := run.Call("SHUTDOWN")
	require.Error(t, err, "it hangs up")
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(run.dir, "pid"))
		return os.IsNotExist(err)
	}, time.Minute, 5*time.Millisecond)
	run.pid = 0
	require.FileExists(t, filepath.Join(run.dir, "dump.rdb"))
}

// directivesOf are the names of what a file says.
func directivesOf(t *testing.T, text string) (names []string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if words := strings.Fields(line); len(words) > 0 && words[0][0] != '#' {
			names = append(names, words[0])
		}
	}
	require.Greater(t, len(names), 50)
	return names
}

// TestStockFiles starts the program with the file beside ORACLE, and with Debian's if it can be read, as
// Redis is started with them. CONFIG GET must show their values.
func TestStockFiles(t *testing.T) {
	oracle, tried := string(testkit.Oracle(t)), 0
	for _, file := range []string{filepath.Join(filepath.Dir(oracle), "..", "redis.conf"), "/etc/redis/redis.conf"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Log("left out: ", err)
			continue
		}
		tried++
		ours, redis := startStock(t, testkit.Lockserver(t), file), startStock(t, oracle, file)
		for _, directive := range directivesOf(t, string(text)) {
			switch directive {
			case "port", "dir", "pidfile", "logfile": // of the command line
			default:
				require.Equal(t, redis.Do("CONFIG", "GET", directive).String(), ours.Do("CONFIG", "GET", directive).String())
			}
		}
		ours.stop(t)
		redis.stop(t)
	}
	require.NotZero(t, tried, "there is no file to try")
}
