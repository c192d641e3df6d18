package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// server is the server of a library's locks: an etcd, or a lockserver (LOCKSERVER names another program).
type server struct {
	t       *testing.T
	command func() *exec.Cmd
	address string
	etcd    bool
	process *process
}

// start runs a server for a library. With its defaults a lockserver loses everything if it is killed soon
// after its start, so durable changes them. etcd is always durable.
func start(t *testing.T, library string, durable bool) *server {
	t.Helper()
	port, dir := freePort(t), t.TempDir()
	s := &server{t: t, address: "127.0.0.1:" + port, etcd: library == "etcd"}
	peer := freePort(t)
	s.command = func() *exec.Cmd {
		if s.etcd {
			cmd := exec.Command(os.Args[0], port, peer, dir)
			cmd.Env = append(os.Environ(), roleVariable+"="+roleEtcd)
			return cmd
		}
		path := os.Getenv("LOCKSERVER")
		if path == "" {
			path = filepath.Join("..", "..", "bin", "lockserver")
		}
		args := []string{"--port", port, "--dir", dir}
		if durable {
			args = append(args, "--appendonly", "yes", "--appendfsync", "always")
		}
		if library == "client" { // the server determines the lease for this library
			args = append(args, "--lock-watchdog-timeout", strconv.FormatInt(lease.Milliseconds(), 10))
		}
		return exec.Command(path, args...)
	}
	s.run()
	return s
}

// freePort returns a port without a listener. It is below those that the system gives to connections. So no
// other program takes it before the server starts, or while the server is down.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(12000 + rand.IntN(20000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	require.Fail(t, "there is no free port")
	return ""
}

// run starts the process.
func (s *server) run() {
	s.t.Helper()
	s.process = begin(s.t, s.command())
	s.process.hears(etcdIsReady)
}

// restart kills the server and starts it again.
func (s *server) restart() {
	s.t.Helper()
	_ = s.process.cmd.Process.Kill()
	_ = s.process.cmd.Wait()
	s.run()
}

// report returns the name of the last writer.
func (s *server) report() string {
	s.t.Helper()
	if s.etcd {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.address}})
		require.NoError(s.t, err)
		defer c.Close()
		reply, err := c.Get(s.t.Context(), "report")
		require.NoError(s.t, err)
		require.Len(s.t, reply.Kvs, 1)
		return string(reply.Kvs[0].Value)
	}
	rdb := redis.NewClient(&redis.Options{Addr: s.address})
	defer rdb.Close()
	who, err := rdb.Get(s.t.Context(), "report").Result()
	require.NoError(s.t, err)
	return who
}

// link is a breakable connection to a server.
type link struct {
	address string
	to      string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

func (s *server) link() *link {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = listener.Close() })
	l := &link{address: listener.Addr().String(), to: s.address, conns: make(map[net.Conn]bool)}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(near)
		}
	}()
	return l
}

// carry copies the data of a connection, until either side ends or the link is cut.
func (l *link) carry(near net.Conn) {
	defer near.Close()
	far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.to)
	if err != nil {
		return
	}
	defer far.Close()
	l.mu.Lock()
	if l.down {
		l.mu.Unlock()
		return
	}
	l.conns[near], l.conns[far] = true, true
	l.mu.Unlock()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	_, _ = io.Copy(near, far)
	l.mu.Lock()
	delete(l.conns, near)
	delete(l.conns, far)
	l.mu.Unlock()
}

// cut breaks every connection, and refuses new ones until mend.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for c := range l.conns {
		_ = c.Close()
	}
}

func (l *link) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
