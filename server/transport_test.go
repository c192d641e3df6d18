package server

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

func TestOneByteAtATime(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		for _, b := range []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nva\r\nl\r\nget k\r\n\r\n*1\r\n$4\r\nPING\r\n") {
			_, err := c.Conn().Write([]byte{b})
			require.NoError(t, err)
			if b == 'G' {
				time.Sleep(time.Millisecond)
			}
		}
		require.Equal(t, "+OK", c.Receive().String())
		require.Equal(t, `"va\r\nl"`, c.Receive().String())
		require.Equal(t, "+PONG", c.Receive().String())
	})
}

func TestLargeArgument(t *testing.T) { // not parallel: scripts of other tests would get "not enough memory"
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		big := strings.Repeat("0123456789abcdef", testkit.Steps(1<<20, 4<<20)) // 16 MiB, 64 MiB in the long form
		v, err := c.Call("SET", "k", big)
		require.NoError(t, err)
		require.Equal(t, "+OK", v.String())
		require.EqualValues(t, len(big), c.Do("STRLEN", "k").Int)
		for _, at := range []int{0, 16<<10 - 8, 1<<20 - 8, len(big) / 2, len(big) - 16} {
			require.Equal(t, big[at:at+16], c.Do("GETRANGE", "k", strconv.Itoa(at), strconv.Itoa(at+15)).Str)
		}
		require.Equal(t, "-ERR Protocol error: invalid bulk length", raw(t, c, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870913\r\n"))
		awaitClosed(t, c.Conn())
	})
}

// A connection that once took something large does not hold on to it while it is idle.
func TestIdleConnectionsHoldLittle(t *testing.T) {
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		before := heapBytes()
		long := strings.Repeat("x", 8<<20)
		var idle []*testkit.Client
		for range 4 {
			c := testkit.Dial(t, dial)
			v, err := c.Call("SET", "k", long)
			require.NoError(t, err)
			require.Equal(t, "+OK", v.String())
			require.EqualValues(t, 1, c.Do("DEL", "k").Int)
			idle = append(idle, c)
		}
		// The clients hold 8 MiB each themselves, and so does the test.
		held := int64(heapBytes()) - int64(before)
		require.Less(t, held, int64(5*8<<20+16<<20))
		runtime.KeepAlive(idle)
	})
}

// raw sends bytes and returns one reply.
func raw(t *testing.T, c *testkit.Client, bytes string) string {
	t.Helper()
	_, err := c.Conn().Write([]byte(bytes))
	require.NoError(t, err)
	return c.Receive().String()
}

func TestLongPipeline(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		var commands [][]string
		for i := range testkit.Steps(4_000, 10_000) {
			commands = append(commands, []string{"SET", "k" + strconv.Itoa(i%100), strconv.Itoa(i)}, []string{"INCR", "n"})
		}
		for i, v := range c.Pipeline(commands) {
			if i%2 == 0 {
				require.Equal(t, "+OK", v.String())
			} else {
				require.EqualValues(t, i/2+1, v.Int)
			}
		}
	})
}

// Requests that fill the buffer for one read exactly, and nothing behind them: the socket does not report
// them once more.
func TestReadsThatAreFull(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		for _, reads := range []int{1, 2, 5} {
			value := strings.Repeat("v", reads*64<<10)
			request := appendCommand(nil, "SET", "k", value)
			value = value[:2*len(value)-len(request)]
			request = appendCommand(nil, "SET", "k", value)
			require.Len(t, request, reads*64<<10)
			require.Equal(t, "+OK", raw(t, c, string(request)))
			require.Equal(t, "+OK", raw(t, c, string(request)+"PING\r\n"), "the rest comes after a read that is full")
			require.Equal(t, "+PONG", c.Receive().String())
		}
	})
}

// A change of the session by a command counts for the next command of a pipeline, although the state is not
// read before each.
func TestPipelineSeesWhatItChanges(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		words := func(lines ...string) (commands [][]string) {
			for _, line := range lines {
				commands = append(commands, strings.Fields(line))
			}
			return commands
		}
		for _, step := range []struct {
			send [][]string
			want []string
		}{
			{words("SET k 1", "MULTI", "INCR k", "INCR k", "EXEC", "GET k"), []string{"+OK", "+OK", "+QUEUED", "+QUEUED", "[2 3]", `"3"`}},
			{words("GET k", "SUBSCRIBE c", "GET k", "UNSUBSCRIBE c", "GET k"), []string{`"3"`, `["subscribe" "c" 1]`,
				"-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
				`["unsubscribe" "c" 0]`, `"3"`}},
			{words("SUBSCRIBE c", "PING", "RESET", "PING", "GET k"), []string{`["subscribe" "c" 1]`, `["pong" ""]`, "+RESET", "+PONG", `"3"`}},
			{words("SELECT 1", "SET other 1", "SELECT 0", "GET other", "SELECT 1", "GET other", "SELECT 0"),
				[]string{"+OK", "+OK", "+OK", "$nil", "+OK", `"1"`, "+OK"}},
			{words("SET k 1", "GET", "GET k", "SETT k 2", "GET k", "INCR other x", "INCR k"), []string{"+OK",
				"-ERR wrong number of arguments for 'get' command", `"1"`, "-ERR unknown command 'SETT', with args beginning with: 'k' '2' ", `"1"`,
				"-ERR wrong number of arguments for 'incr' command", "2"}},
			{words("CLIENT GETNAME", "CLIENT SETNAME n", "CLIENT GETNAME", "PING"),
				[]string{`$nil`, "+OK", `"n"`, "+PONG"}},
		} {
			var got []string
			for _, v := range c.Pipeline(step.send) {
				got = append(got, v.String())
			}
			require.Equal(t, step.want, got)
		}
		for _, line := range words("SET k 1", "CLIENT REPLY SKIP", "INCR k", "INCR k", "CLIENT REPLY OFF", "INCR k", "PING", "CLIENT REPLY ON", "GET k") {
			c.Send(line...)
		}
		for _, want := range []string{"+OK", "3", "+OK", `"4"`} {
			require.Equal(t, want, c.Receive().String())
		}
	})
}

// A pipeline with replies that are many times larger than one batch, read late.
func TestPipelineOfLargeReplies(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		c.Do("SET", "k", strings.Repeat("x", 300<<10))
		rounds := testkit.Steps(25, 100)
		for range rounds {
			c.Send("GET", "k")
			c.Send("INCR", "n")
		}
		eventually(t, func() bool { return srv.mostUnread() > 0 || srv.commandsRun() > int64(2*rounds) }, "replies wait, or all are under way")
		for i := range rounds {
			require.Len(t, c.Receive().Str, 300<<10)
			require.EqualValues(t, i+1, c.Receive().Int)
		}
	})
}

func TestProtocolErrors(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		for _, tt := range []struct{ send, reply string }{
			{"*x\r\n", "-ERR Protocol error: invalid multibulk length"},
			{"*1\r\n:1\r\n", "-ERR Protocol error: expected '$', got ':'"},
			{"*1\r\n$-2\r\n", "-ERR Protocol error: invalid bulk length"},
			{"get \"k\r\n", "-ERR Protocol error: unbalanced quotes in request"},
		} {
			c := testkit.Dial(t, dial)
			require.Equal(t, "+PONG", raw(t, c, "PING\r\n"+tt.send))
			require.Equal(t, tt.reply, c.Receive().String())
			awaitClosed(t, c.Conn())
		}
	})
}

func TestQueryBufferLimit(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		c.Do("CONFIG", "SET", "client-query-buffer-limit", "1mb")
		_, err := c.Conn().Write([]byte("*2\r\n$4\r\nECHO\r\n$2097152\r\n"))
		require.NoError(t, err)
		awaitClosed(t, c.Conn())
		eventually(t, func() bool { return srv.connected() == 0 }, "it is gone")
	})
}

func TestUnauthenticatedClientsMayNotSendMuch(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{Directives: withPassword("secret").Directives()}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		require.Equal(t, "-ERR Protocol error: unauthenticated multibulk length", raw(t, c, "*11\r\n"))
		awaitClosed(t, c.Conn())
		c = testkit.Dial(t, dial)
		require.Equal(t, "-ERR Protocol error: unauthenticated bulk length", raw(t, c, "*1\r\n$16385\r\n"))
		awaitClosed(t, c.Conn())
		c = testkit.Dial(t, dial) // D120: in a typed line, too
		require.Equal(t, "-ERR Protocol error: unauthenticated multibulk length", raw(t, c, "PING 1 2 3 4 5 6 7 8 9 10\r\n"))
		awaitClosed(t, c.Conn())
		c = testkit.Dial(t, dial) // and for all of a command
		require.Equal(t, "-ERR Protocol error: unauthenticated bulk length",
			raw(t, c, "*3\r\n$4\r\nAUTH\r\n$9000\r\n"+strings.Repeat("x", 9000)+"\r\n$9000\r\n"))
		awaitClosed(t, c.Conn())
		c = testkit.Dial(t, dial)
		require.Equal(t, "-ERR Protocol error: too big inline request", raw(t, c, strings.Repeat("x", 16_385)))
		awaitClosed(t, c.Conn())
		// The limits end with the login, also for what stands behind it in one pipeline.
		c = testkit.Dial(t, dial)
		long := strings.Repeat("x", 20_000)
		require.Equal(t, "[+OK \""+long+"\"]", resp.Value{Kind: resp.Array,
			Elems: c.Pipeline([][]string{{"AUTH", "secret"}, {"ECHO", long}})}.String())
	})
}

func withPassword(p string) *config.Config {
	c := quiet()
	c.RequirePass = p
	return c
}

func TestClientThatNeverReadsIsClosed(t *testing.T) {
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		admin := testkit.Dial(t, srv.Dial)
		require.Equal(t, "+OK", admin.Do("CONFIG", "SET", "client-output-buffer-limit", "normal 2mb 0 0").String())
		admin.Do("SET", "k", strings.Repeat("x", 1<<20))
		conn, err := dial()
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		before := heapBytes()
		sent := make(chan int, 1)
		go func() {
			n := 0
			for ; n < 4000; n++ {
				if _, err := conn.Write([]byte("GET k\r\n")); err != nil {
					break
				}
			}
			sent <- n
		}()
		eventually(t, func() bool { return srv.connected() == 1 }, "the client that does not read is closed")
		n := <-sent
		require.Less(t, int64(heapBytes())-int64(before), int64(64<<20), "after %d replies of 1 MiB", n)
		require.Equal(t, "+PONG", admin.Do("PING").String())
	})
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The client closes its sending half: what it has sent is answered, as far as it
// gets; then the connection ends.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		srv := startWith(t, Options{EventLoops: loops}, nil)
		conn, err := overPort(srv)()
		require.NoError(t, err)
		_, err = conn.Write([]byte("PING\r\nSET k v\r\nGET k\r\n"))
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(soon)))
		got, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Equal(t, "+PONG\r\n+OK\r\n$1\r\nv\r\n", string(got), "loops: %v", loops)
		_ = conn.Close()
		eventually(t, func() bool { return srv.connected() == 0 }, "it is gone")
	}
}

func TestResetWhileBlocked(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Do("LOCK", "k", "a")
		b.Send("LOCK", "k", "b", "WAIT", "0")
		b.Send("SET", "behind", "1")
		awaitParked(t, srv, 1)
		sever(b.Conn())
		awaitParked(t, srv, 0)
		eventually(t, func() bool { return srv.connected() == 1 }, "b is gone")
		a.Do("UNLOCK", "k", "a")
		require.Zero(t, a.Do("EXISTS", "k").Int)
		require.Zero(t, a.Do("EXISTS", "behind").Int)
	})
}

func TestMaxClients(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a := testkit.Dial(t, dial)
		require.Equal(t, "+OK", a.Do("CONFIG", "SET", "maxclients", "2").String())
		b := testkit.Dial(t, dial)
		b.Do("PING")
		c := testkit.Dial(t, dial)
		require.Equal(t, "-ERR max number of clients reached", c.Receive().String())
		awaitClosed(t, c.Conn())
		b.Close()
		eventually(t, func() bool { return srv.connected() == 1 }, "b is gone")
		d := testkit.Dial(t, dial)
		require.Equal(t, "+PONG", d.Do("PING").String())
		require.Contains(t, d.Do("INFO", "stats").Str, "rejected_connections:1\r\n")
	})
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		dir, err := os.MkdirTemp("", "ls") // t.TempDir may be too long a name
		require.NoError(t, err)
		defer func() { _ = os.RemoveAll(dir) }()
		path := filepath.Join(dir, "s")
		srv := startWith(t, Options{EventLoops: loops}, func(c *config.Config) {
			c.UnixSocket, c.UnixSocketPerm = path, 0o640
		})
		require.Equal(t, path, srv.Addr().String(), "port 0 beside a socket is no port")
		st, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o640), st.Mode().Perm())
		c := testkit.Dial(t, overPort(srv))
		require.Equal(t, "+PONG", c.Do("PING").String())
		require.Contains(t, c.Do("CLIENT", "LIST").Str, " addr="+path+":0 laddr="+path+":0 ")
		require.Contains(t, c.Do("CLIENT", "LIST").Str, "flags=U ")

		// A socket that a dead server has left behind is no obstacle, another file is.
		_ = srv.Close()
		_, err = os.Stat(path)
		require.ErrorIs(t, err, os.ErrNotExist)
		left, err := net.Listen("unix", path)
		require.NoError(t, err)
		left.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = left.Close()
		srv = startWith(t, Options{EventLoops: loops}, func(c *config.Config) { c.UnixSocket = path })
		_ = srv.Close()
		require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
		cfg := quiet()
		cfg.UnixSocket = path
		srv, err = newInstance(Options{Directives: cfg.Directives(), EventLoops: loops})
		require.NoError(t, err)
		require.ErrorContains(t, srv.Start(), "the file exists and is no socket")
		_ = srv.Close()
		_ = os.Remove(path)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		srv := startWith(t, Options{EventLoops: loops}, func(c *config.Config) {
			c.Bind = []string{"127.0.0.1", "-192.0.2.1"} // the second is not this machine's, and optional
		})
		require.NotZero(t, srv.Addr().(*net.TCPAddr).Port)
		require.Equal(t, "+PONG", testkit.Dial(t, overPort(srv)).Do("PING").String())

		c := quiet()
		c.Bind = []string{"127.0.0.1", "192.0.2.1"}
		must, err := newInstance(Options{Directives: c.Directives(), EventLoops: loops})
		require.NoError(t, err)
		require.ErrorContains(t, must.Start(), "Could not create server TCP listening socket 192.0.2.1:0")
		require.NoError(t, must.Close())

		c = quiet()
		c.Bind = nil
		none := start(t, Options{Directives: c.Directives(), EventLoops: loops})
		require.Nil(t, none.Addr())
		require.Equal(t, "+PONG", client(t, none).Do("PING").String())
	}
}

func TestTwoServersOnOnePort(t *testing.T) {
	t.Parallel()
	for _, loops := range []bool{false, true} {
		first := startWith(t, Options{EventLoops: loops}, nil)
		c := quiet()
		c.Port = first.Addr().(*net.TCPAddr).Port
		second, err := newInstance(Options{Directives: c.Directives(), EventLoops: loops})
		require.NoError(t, err)
		err = second.Start()
		require.Error(t, err)
		require.Equal(t, fmt.Sprintf("Could not create server TCP listening socket 127.0.0.1:%d: bind: Address already in use", c.Port), err.Error())
		require.NoError(t, second.Close())
		require.Equal(t, "+PONG", testkit.Dial(t, overPort(first)).Do("PING").String())
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	pair, pool := selfSigned(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ln := &holdable{Listener: tcp}
	c := quiet()
	c.Bind = nil
	srv := start(t, Options{Directives: c.Directives(), Listener: tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}})})
	dial := func() (net.Conn, error) {
		return tls.Dial("tcp", srv.Addr().String(), &tls.Config{RootCAs: pool, ServerName: "localhost"})
	}
	a, b, d := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
	require.Equal(t, "+OK", a.Do("SET", "k", strings.Repeat("x", 1<<20)).String())
	require.Len(t, a.Do("GET", "k").Str, 1<<20)
	require.Positive(t, a.Do("LOCK", "l", "a").Int)
	b.Send("LOCK", "l", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	d.Send("LOCK", "l", "d", "WAIT", "0")
	awaitParked(t, srv, 2)
	srv.executor.Mu.Lock()
	b.Close()
	a.Send("UNLOCK", "l", "a")
	eventually(t, srv.executor.Mu.Awaited, "the server has seen one of both")
	srv.executor.Mu.Unlock()
	require.EqualValues(t, 1, a.Receive().Int)
	require.Positive(t, d.Receive().Int)

	// Killing a client that does not read must not delay other clients: crypto/tls would wait for its
	// farewell.
	deaf := testkit.Dial(t, dial)
	require.Equal(t, "+OK", deaf.Do("CLIENT", "SETNAME", "deaf").String())
	held := ln.last()
	held.held.Store(true)
	t.Cleanup(func() { _ = held.Close() }) // a server that waits for it would not end
	list := a.Do("CLIENT", "LIST").Str
	line := list[:strings.Index(list, " name=deaf")]
	id := line[strings.LastIndex(line, "id=")+3:]
	id, _, _ = strings.Cut(id, " ")
	require.EqualValues(t, 1, a.Do("CLIENT", "KILL", "ID", id).Int)
	require.Equal(t, "+PONG", a.Do("PING").String())
	awaitClosed(t, deaf.Conn())
	require.NoError(t, srv.Close())
	_, err = dial()
	require.Error(t, err, "Close closes the listener")
}

// holdable is a listener that keeps the connections it has accepted.
type holdable struct {
	net.Listener
	mu       sync.Mutex
	accepted []*heldConn
}

// Accept implements net.Listener.
func (l *holdable) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	h := &heldConn{Conn: nc, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted = append(l.accepted, h)
	return h, nil
}

// last returns the latest connection.
func (l *holdable) last() *heldConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accepted[len(l.accepted)-1]
}

// heldConn is a connection of a peer that does not read: while it is held, a write lasts until the connection
// is closed.
type heldConn struct {
	net.Conn
	held   atomic.Bool
	once   sync.Once
	closed chan struct{}
}

// Write implements net.Conn.
func (c *heldConn) Write(b []byte) (int, error) {
	if c.held.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// Close implements net.Conn.
func (c *heldConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// selfSigned makes a certificate for localhost, and the pool that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(cryptorand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// Many clients on several loops: every increment counts once, and each client sees its own in order.
func TestCounterOverSeveralLoops(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{EventLoops: true}, func(c *config.Config) { c.IOThreads = 4 })
	const clients, rounds, pipeline = 16, 40, 25
	var all sync.WaitGroup
	for i := range clients {
		conn, err := overPort(srv)()
		require.NoError(t, err)
		all.Go(func() {
			defer func() { _ = conn.Close() }()
			in := bufio.NewReader(conn)
			last := int64(0)
			for round := range rounds {
				_, err := conn.Write([]byte(strings.Repeat("INCR n\r\n", pipeline) +
					fmt.Sprintf("SET k%d %s\r\nCLIENT SETNAME c%d\r\n", i, strings.Repeat("v", 1+round*100), i)))
				if !noError(t, err) {
					return
				}
				for range pipeline {
					v, err := resp.ReadValue(in)
					if !noError(t, err) || !equal(t, true, v.Int > last) {
						return
					}
					last = v.Int
				}
				for range 2 {
					v, err := resp.ReadValue(in)
					if !noError(t, err) || !equal(t, "+OK", v.String()) {
						return
					}
				}
			}
		})
	}
	admin := client(t, srv)
	for range 20 { // what reaches into other sessions, meanwhile
		admin.Do("CLIENT", "LIST")
		admin.Do("CONFIG", "SET", "client-query-buffer-limit", "2mb")
		admin.Do("CONFIG", "SET", "tcp-keepalive", "60")
		admin.Do("INFO", "everything")
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	require.Equal(t, strconv.Itoa(clients*rounds*pipeline), admin.Do("GET", "n").Str)
}

// Connections come and go on several loops while others kill whatever they can reach.
func TestConnectionsComeAndAreKilled(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{EventLoops: true}, func(c *config.Config) { c.IOThreads = 4 })
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 60 {
				conn, err := overPort(srv)()
				if !noError(t, err) {
					return
				}
				_, _ = conn.Write([]byte("PING\r\nCLIENT KILL TYPE normal SKIPME yes\r\nPING\r\n"))
				_ = conn.SetReadDeadline(time.Now().Add(soon))
				_, _ = conn.Read(make([]byte, 64))
				_ = conn.Close()
			}
		})
	}
	all.Wait()
	require.Equal(t, "+PONG", client(t, srv).Do("PING").String())
	eventually(t, func() bool { return srv.connected() <= 1 }, "all are gone")
}
