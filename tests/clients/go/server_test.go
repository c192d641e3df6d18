package clients

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// program is what the tests start: bin/lockserver unless LOCKSERVER names another one.
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
	cmd          *exec.Cmd
	log          *logged
	exited       chan struct{}
}

// logged is what a server has printed so far.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a server on a free port, with directives such as "--requirepass", "secret", until the test ends.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{program: program(), dir: t.TempDir(), args: args}
	port := "0"
	if isRedis() {
		port = freePort(t)
	}
	s.run(t, port)
	t.Cleanup(func() { s.end(t) })
	return s
}

// end is the end of the test.
func (s *server) end(t *testing.T) {
	s.kill()
	if t.Failed() {
		t.Logf("the server said:\n%s", s.log)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// run starts the process and waits for the line that says it is ready.
func (s *server) run(t *testing.T, port string) {
	t.Helper()
	listen := []string{"--port", port}
	if s.certificates != "" {
		listen = []string{"--port", "0", "--tls-port", port}
	}
	args := slices.Concat(listen, []string{"--dir", s.dir, "--save", ""}, s.args)
	s.cmd, s.log, s.exited = exec.Command(s.program, args...), &logged{}, make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	require.NoError(t, s.cmd.Start())
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	eventually(t, func() bool {
		_, rest, ready := strings.Cut(s.log.String(), "Ready to accept connections")
		line, _, whole := strings.Cut(rest, "\n")
		if !ready || !whole {
			return false
		}
		_, addr, named := strings.Cut(line, "addr=")
		switch {
		case s.certificates != "":
			s.addr = "localhost:" + port // the name in its certificate
		case named:
			s.addr = addr
		default:
			s.addr = "127.0.0.1:" + port
		}
		return true
	}, "the server is ready")
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

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
	<-s.exited
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
