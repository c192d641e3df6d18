package fairness

import (
	"flag"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// patience is the longest time that a test waits for an event.
var patience = flag.Duration("patience", time.Minute, "how long a test waits for what must happen")

// transports are the ways in which clients connect to a server.
var transports = []struct {
	name    string
	loops   bool
	threads int
	pipe    bool
}{
	{name: "an event loop", loops: true, threads: 1},
	{name: "three event loops", loops: true, threads: 3},
	{name: "goroutines", threads: 1},
	{name: "pipes", threads: 1, pipe: true},
}

// running is a server and the way to connect to it.
type running struct {
	dial  func() (net.Conn, error)
	admin *testkit.Client
}

// onEveryTransport runs a test with a new server for each transport.
func onEveryTransport(t *testing.T, test func(t *testing.T, r *running)) {
	for i, tr := range transports {
		t.Run(tr.name, func(t *testing.T) { test(t, start(t, i)) })
	}
}

// start runs a server with one of the transports. It ends with the test.
func start(t *testing.T, transport int) *running {
	t.Helper()
	tr := transports[transport]
	c := config.Default()
	c.Port, c.Save, c.DBFilename, c.IOThreads = 0, nil, "", tr.threads
	srv, err := server.New(server.Options{Directives: c.Directives(), EventLoops: tr.loops})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	r := &running{dial: func() (net.Conn, error) { return net.Dial("tcp", srv.Addr().String()) }}
	if tr.pipe {
		r.dial = srv.Dial
	}
	r.admin = r.connect(t)
	return r
}

// connect returns a client of the server.
func (r *running) connect(t *testing.T) *testkit.Client {
	t.Helper()
	c := testkit.Dial(t, r.dial)
	c.Timeout = *patience
	return c
}

// awaitWaiters waits until n clients wait.
func (r *running) awaitWaiters(t *testing.T, n int) {
	t.Helper()
	want := strconv.Itoa(n)
	for end := time.Now().Add(*patience); ; time.Sleep(100 * time.Microsecond) {
		got := field(r.admin.Do("INFO", "clients").Str, "blocked_clients")
		if got == want {
			return
		}
		require.True(t, time.Now().Before(end), "%s clients wait, and should be %s", got, want)
	}
}
