package testkit

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Redis is a real redis-server 7.0 that belongs to a test.
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

// StartRedis starts a redis-server with empty databases, no persistence and no TCP port, for the length of
// the test. args are added to its command line ("--requirepass", "x") and win over what this says. Where
// there is none, the test fails and says what to do.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("there is no redis-server to compare with: run 'make deps'")
	}
	dir, err := os.MkdirTemp("", "redis") // t.TempDir may be too long for a socket's name
	require.NoError(t, err)
	r := &Redis{Dir: dir, Socket: filepath.Join(dir, "s"), t: t}
	logPath := filepath.Join(dir, "redis.log")
	r.process = exec.Command(path, append([]string{"--port", "0", "--unixsocket", r.Socket, "--save", "",
		"--appendonly", "no", "--hz", ticks, "--dir", dir, "--logfile", logPath}, args...)...)
	require.NoError(t, r.process.Start())
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
