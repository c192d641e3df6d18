package unauthenticated

import (
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/rusage"
	"lockserver/server"
	"lockserver/tests/testkit"
)

var connections = flag.Int("connections", 300, "how many unauthenticated clients there are, as far as descriptors go")

// childVariable is an environment variable with directives, one on each line. It makes a process of this test
// a server.
const childVariable = "LOCKSERVER_STRANGERS_CHILD"

func TestMain(m *testing.M) {
	if text, child := os.LookupEnv(childVariable); child {
		os.Exit(beServer(text))
	}
	os.Exit(m.Run())
}

// beServer runs a child. It ends when its parent closes its input.
func beServer(text string) int {
	directives := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		directives[name] = value
	}
	srv, err := server.New(server.Options{EventLoops: true, Directives: directives})
	if err == nil {
		err = srv.Start()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready", srv.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// child is a running server.
type child struct {
	addr, secure string
	client       *testkit.Client // authenticated
}

func start(t *testing.T, n int) *child {
	t.Helper()
	ca := testkit.NewAuthority(t)
	cert := ca.Issue("server", time.Now().Add(time.Hour))
	self, err := os.Executable()
	require.NoError(t, err)
	secure := testkit.FreePort(t)
	p := testkit.Start(t, testkit.Command{Program: self, Env: []string{childVariable + "=" + strings.Join([]string{"requirepass secret", "auth-timeout 0",
		fmt.Sprint("maxclients ", n+100), "port " + testkit.FreePort(t), "tls-port " + secure, "tls-auth-clients no", "tls-cert-file " + cert.CertFile,
		"tls-key-file " + cert.KeyFile}, "\n")}})
	c := &child{addr: p.Address(), secure: "127.0.0.1:" + secure, client: p.Client(t)}
	c.client.Timeout = time.Minute
	require.Equal(t, "+OK", c.client.Do("AUTH", "secret").String())
	return c
}

// resident returns the resident memory of the server in bytes, from the system.
func (c *child) resident(t *testing.T) int {
	t.Helper()
	_, rest, _ := strings.Cut(c.client.Do("INFO", "memory").Str, "used_memory_rss:")
	rest, _, _ = strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(rest)
	require.NoError(t, err)
	return n
}

// wait returns the median and the longest wait of an authenticated client for a reply.
func (c *child) wait(requests int) (median, longest time.Duration) {
	var waits []time.Duration
	for i := range requests {
		start := time.Now()
		c.client.Do("SET", "key", strconv.Itoa(i))
		waits = append(waits, time.Since(start))
	}
	slices.Sort(waits)
	return waits[len(waits)/2], waits[len(waits)-1]
}

// crowd returns the largest possible number of unauthenticated clients.
func crowd(t *testing.T) int {
	t.Helper()
	limit, known, _ := rusage.OpenFiles(uint64(*connections + 200))
	if !known {
		return *connections
	}
	return min(*connections, int(limit)-200)
}

// The kinds of unauthenticated clients, and what each repeats with its connection.
var kinds = []struct {
	name   string
	secure bool
	// bytes is the largest memory of the server for each, including the reserves of the runtime.
	bytes int
	act   func(nc net.Conn, turn int) error
}{
	{"a byte now and then", false, 64 << 10, func(nc net.Conn, turn int) error {
		command := "*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$10000\r\n" + strings.Repeat("x", 10_000)
		_, err := nc.Write([]byte{command[turn%len(command)]})
		return err
	}},
	{"reads nothing", false, 128 << 10, func(nc net.Conn, _ int) error {
		_ = nc.SetWriteDeadline(time.Now().Add(time.Millisecond)) // the write may block: the test is about that
		_, _ = nc.Write(bytes.Repeat([]byte("GET key\r\n"), 2000))
		return nil
	}},
	{"half a handshake", true, 96 << 10, func(nc net.Conn, turn int) error {
		hello := []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}
		_, err := nc.Write([]byte{append(hello, make([]byte, 400)...)[min(turn, 400)]})
		return err
	}},
}

// TestUnauthenticatedClientsDelayNoOthers: unauthenticated clients of any kind, as many as possible, delay no
// authenticated client, and take no more memory than allowed. The longest wait is logged. The test only
// requires less than twenty seconds, because the machine may be busy: a client that is really blocked waits
// until the other one disconnects.
func TestUnauthenticatedClientsDelayNoOthers(t *testing.T) {
	n := crowd(t)
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			c := start(t, n)
			c.wait(100)
			before := c.resident(t)
			alone, _ := c.wait(500)
			addr := c.addr
			if kind.secure {
				addr = c.secure
			}
			var conns []net.Conn
			defer func() {
				for _, nc := range conns {
					_ = nc.Close()
				}
			}()
			for range n {
				nc, err := net.Dial("tcp", addr)
				require.NoError(t, err)
				require.NoError(t, nc.(*net.TCPConn).SetReadBuffer(8<<10)) // the memory of the systems does not count
				conns = append(conns, nc)
			}
			stop := make(chan struct{})
			var group sync.WaitGroup
			group.Go(func() {
				for turn := 0; ; turn++ {
					for _, nc := range conns {
						select {
						case <-stop:
							return
						default:
							_ = kind.act(nc, turn) // the oldest of too many handshakes are closed
						}
					}
				}
			})
			median, longest := c.wait(500)
			after := c.resident(t)
			close(stop)
			group.Wait()
			t.Logf("%d unauthenticated clients: a SET takes %v, the longest %v; alone %v; %d bytes each", n, median, longest, alone, (after-before)/n)
			require.Less(t, longest, 20*time.Second)
			require.Less(t, after-before, 48<<20+n*kind.bytes)
			require.Equal(t, "+PONG", c.client.Do("PING").String())
		})
	}
}

// TestHandshakesGoOnBesideHalfDoneOnes: a TLS client is served while a thousand handshakes do not continue.
func TestHandshakesGoOnBesideHalfDoneOnes(t *testing.T) {
	c := start(t, crowd(t))
	for range crowd(t) {
		nc, err := net.Dial("tcp", c.secure)
		require.NoError(t, err)
		defer func() { _ = nc.Close() }()
		_, err = nc.Write([]byte{0x16, 3, 1, 2, 0})
		require.NoError(t, err)
	}
	for range 10 {
		nc, err := tls.Dial("tcp", c.secure, &tls.Config{InsecureSkipVerify: true}) // the test is about time, not about trust
		require.NoError(t, err)
		client := testkit.NewClient(t, nc)
		require.Equal(t, "+OK", client.Do("AUTH", "secret").String())
		require.NoError(t, nc.Close())
	}
}
