package clients

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// patience is how long anything may take on a busy machine.
const patience = 90 * time.Second

// program returns the path of the server: bin/lockserver unless LOCKSERVER names another one.
func program() string {
	if path := os.Getenv("LOCKSERVER"); path != "" {
		return path
	}
	return filepath.Join("..", "..", "..", "bin", "lockserver")
}

// isRedis says that the program is a real Redis, which does not choose a port by itself.
func isRedis() bool { return strings.HasPrefix(filepath.Base(program()), "redis-server") }

// server is a running server.
type server struct {
	program      string
	addr         string
	dir          string
	certificates string // a folder that certificates.sh has made, if it speaks TLS
	args         []string
	process      *testkit.Process
}

// start runs a server on a free port, with directives such as "--requirepass", "secret", until the test ends.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{program: program(), dir: t.TempDir(), args: args}
	port := "0"
	if isRedis() {
		port = testkit.FreePort(t)
	}
	s.run(t, port)
	return s
}

// run starts the process and waits for the line that says it is ready.
func (s *server) run(t *testing.T, port string) {
	t.Helper()
	listen := []string{"--port", port}
	if s.certificates != "" {
		listen = []string{"--port", "0", "--tls-port", port}
	}
	if s.process == nil {
		path, err := filepath.Abs(s.program)
		require.NoError(t, err)
		s.process = testkit.Prepare(t, testkit.Command{Program: path, Dir: s.dir})
	}
	s.process.Args = slices.Concat(listen, []string{"--dir", s.dir, "--save", ""}, s.args)
	switch {
	case s.certificates != "":
		s.addr = "localhost:" + port // the name in its certificate
		s.process.Ready = s.shakesHands
	case port != "0":
		s.addr = "127.0.0.1:" + port
		s.process.Addr = s.addr
	}
	require.NoError(t, s.process.Start())
	if s.addr == "" {
		s.addr = s.process.Address()
	}
}

// shakesHands reports whether a server listens for TLS.
func (s *server) shakesHands() bool {
	conn, err := net.Dial("tcp", s.addr)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func (s *server) kill() { s.process.Kill() }

// replace ends the process as a crash would and starts another one, without data, on the same port.
func (s *server) replace(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	require.NoError(t, err)
	s.kill()
	s.run(t, port)
}

// restart saves the data, ends the process and starts another one on the same port.
func (s *server) restart(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	require.NoError(t, err)
	out, err := exec.Command("redis-cli", "-p", port, "SHUTDOWN", "SAVE").CombinedOutput()
	require.NoError(t, err, "%s", out)
	_, err = s.process.Wait()
	require.NoError(t, err)
	s.run(t, port)
}

// eventually waits until something is so.
func eventually(t *testing.T, ok func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "waited too long for: %s", what)
	}
}

// protocols runs a test with both versions of the protocol.
func protocols(t *testing.T, test func(t *testing.T, protocol int)) {
	for _, p := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", p), func(t *testing.T) { test(t, p) })
	}
}

// connect is a go-redis client of a server, closed with the test.
func (s *server) connect(t *testing.T, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: s.addr, ReadTimeout: patience}
	for _, f := range change {
		f(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func protocol(p int) func(*redis.Options) { return func(o *redis.Options) { o.Protocol = p } }

// within is the test's context with a deadline.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
