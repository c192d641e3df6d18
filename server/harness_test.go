package server

import (
	"crypto/tls"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/tests/conversation"
	"lockserver/tests/testkit"
)

// soon bounds how long a test waits for what must happen. 20 seconds were too few beside other work.
const soon = 2 * time.Minute

// start runs a server that ends with the test.
func start(t testing.TB, o Options) *instance {
	t.Helper()
	srv, err := newInstance(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	return srv
}

// startWith runs a server on a free port; change may alter its configuration. It keeps no files.
func startWith(t testing.TB, o Options, change func(c *config.Config)) *instance {
	t.Helper()
	c := quiet()
	if change != nil {
		change(c)
	}
	o.Directives = c.Directives()
	return start(t, o)
}

// quiet is a configuration without files and with a free port.
func quiet() *config.Config {
	c := config.Default()
	c.Port, c.Save, c.DBFilename = 0, nil, ""
	return c
}

// inDir is a configuration that keeps its files in a directory, and saves only when a command asks for it.
func inDir(dir string) *config.Config {
	c := config.Default()
	c.Port, c.Save, c.Dir = 0, nil, dir
	return c
}

// client is a connection through the process itself.
func client(t testing.TB, srv *instance) *testkit.Client {
	t.Helper()
	return testkit.Dial(t, srv.Dial)
}

// overPort returns what dials a server through its port or socket.
func overPort(srv *instance) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.Dial(srv.Addr().Network(), srv.Addr().String()) }
}

// transportForm is a way on which bytes reach a session.
type transportForm struct {
	name    string
	options Options
	threads int
	pipe    bool
	sealed  bool
}

// transports has all of them. Systems other than Linux have only those without event loops.
var transports = []transportForm{
	{name: "pipe", pipe: true},
	{name: "goroutines"},
	{name: "loop", options: Options{EventLoops: true}, threads: 1},
	{name: "4 loops", options: Options{EventLoops: true}, threads: 4},
	{name: "encrypted", options: Options{EventLoops: true}, threads: 1, sealed: true},
	{name: "encrypted goroutines", sealed: true},
}

// onEveryTransport runs a test on each of them.
func onEveryTransport(t *testing.T, o Options, test func(t *testing.T, srv *instance, dial func() (net.Conn, error))) {
	onTransports(t, transports, o, test)
}

// onSomeTransports runs a test on the first event loop's transport and on another one, which the name of the
// test decides. The long form is onEveryTransport.
func onSomeTransports(t *testing.T, o Options, test func(t *testing.T, srv *instance, dial func() (net.Conn, error))) {
	const loop = 2
	another := int(crc32.ChecksumIEEE([]byte(t.Name()))) % (len(transports) - 1)
	if another >= loop {
		another++
	}
	onTransports(t, shortOf(transports[loop], transports[another]), o, test)
}

// onATransport runs one of many scripts on the transport that the name of the test decides. Over all scripts
// each transport has its share. The long form is onEveryTransport.
func onATransport(t *testing.T, o Options, test func(t *testing.T, srv *instance, dial func() (net.Conn, error))) {
	onTransports(t, shortOf(transports[int(crc32.ChecksumIEEE([]byte(t.Name())))%len(transports)]), o, test)
}

// shortOf returns these transports, or all of them in the long form.
func shortOf(some ...transportForm) []transportForm {
	if testkit.Long() {
		return transports
	}
	return some
}

func onTransports(t *testing.T, forms []transportForm, o Options, test func(t *testing.T, srv *instance, dial func() (net.Conn, error))) {
	for _, tr := range forms {
		t.Run(tr.name, func(t *testing.T) {
			own := o
			own.EventLoops = tr.options.EventLoops
			var ca *testkit.Authority
			if tr.sealed {
				ca = testkit.NewAuthority(t)
			}
			srv := startWith(t, own, func(c *config.Config) {
				if tr.threads > 0 {
					c.IOThreads = tr.threads
				}
				if o.Directives != nil {
					threads := c.IOThreads
					require.NoError(t, c.Assign(o.Directives))
					c.IOThreads = threads
				}
				if tr.sealed {
					seal(t, c, ca)
				}
			})
			dial := srv.Dial
			switch {
			case tr.sealed:
				dial = overTLS(srv, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"})
			case !tr.pipe:
				dial = overPort(srv)
			}
			test(t, srv, dial)
		})
	}
}

// seal gives a configuration an encrypted port, with a certificate of that authority, instead of a plain one.
// No client needs one.
func seal(t testing.TB, c *config.Config, ca *testkit.Authority) {
	t.Helper()
	cert := ca.Issue("server", time.Now().Add(time.Hour))
	c.Port, c.TLS.Port = 0, freePort(t)
	c.TLS.CertFile, c.TLS.KeyFile, c.TLS.AuthClients = cert.CertFile, cert.KeyFile, "no"
}

// overTLS returns what dials a server's encrypted port.
func overTLS(srv *instance, c *tls.Config) func() (net.Conn, error) {
	return func() (net.Conn, error) { return tls.Dial("tcp", srv.SecureAddr().String(), c) }
}

// parked returns how many commands wait.
func (srv *instance) parked() int {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	return srv.executor.Waits.Queues.Len()
}

// connected returns how many sessions there are.
func (srv *instance) connected() int {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	return len(srv.executor.clients)
}

// awaitParked waits until n commands wait.
func awaitParked(t testing.TB, srv *instance, n int) {
	t.Helper()
	eventually(t, func() bool { return srv.parked() == n }, "%d commands should wait", n)
}

// eventually is require.Eventually that looks often.
func eventually(t testing.TB, is func() bool, format string, args ...any) {
	t.Helper()
	eventuallyWithin(t, soon, is, format, args...)
}

func eventuallyWithin(t testing.TB, limit time.Duration, is func() bool, format string, args ...any) {
	t.Helper()
	conversation.Await(t, limit, is, format, args...)
}

// awaitClosed is conversation.AwaitClosed.
func awaitClosed(t testing.TB, conn net.Conn) {
	t.Helper()
	conversation.AwaitClosed(t, conn)
}

// converse plays a conversation with a server.
func converse(t *testing.T, srv *instance, clock *ManualClock, dial func() (net.Conn, error), text string) {
	t.Helper()
	conversation.Run(t, conversation.Server{Dial: dial, Parked: srv.parked, Connected: srv.connected, Clock: clock}, text)
}

// runID returns the number that distinguishes a server from a later server at its address.
func runID(t testing.TB, addr string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, soon)
	require.NoError(t, err)
	c := testkit.NewClient(t, conn)
	defer c.Close()
	_, id, found := strings.Cut(c.Do("INFO", "server").Str, "run_id:")
	require.True(t, found && len(id) > 40, id)
	return id[:40]
}

// requireStopped fails if that server still answers at the address. Another program may have got the port.
func requireStopped(t testing.TB, addr, id string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, soon)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	_, _ = conn.Write([]byte("INFO server\r\nQUIT\r\n"))
	answer, _ := io.ReadAll(conn)
	require.NotContains(t, string(answer), id, addr)
}

// checkParking fails unless nothing is left behind by waiters.
func checkParking(t testing.TB, srv *instance) {
	t.Helper()
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	require.Zero(t, srv.executor.Waits.Queues.Len())
	require.Zero(t, srv.executor.Waits.Queues.LenAllLocks())
	require.Zero(t, srv.executor.Waits.Queues.LenQueues())
	require.Zero(t, srv.executor.Waits.Queues.Ready())
	for id, s := range srv.executor.clients {
		require.Nil(t, s.Waiter, "client %d", id)
	}
}

// carrier is the connection underneath an encrypted one. The Close of the latter would wait to end TLS
// properly.
func carrier(conn net.Conn) net.Conn {
	if c, ok := conn.(*tls.Conn); ok {
		return c.NetConn()
	}
	return conn
}

// overPlain returns what dials the encrypted port without encryption.
func overPlain(srv *instance) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.Dial("tcp", srv.SecureAddr().String()) }
}
