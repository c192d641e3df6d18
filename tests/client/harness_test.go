package client_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/server"
	"lockserver/tests/testkit"
)

var ctx = context.Background()

// network is the way to a server in the process, which a test can break.
type network struct {
	mu    sync.Mutex
	srv   *server.Server // nil: there is no answer
	conns map[*conn]bool
	by    func() net.Conn // not nil: who answers instead of srv
	mute  bool            // what is sent is lost, without an error
	deaf  bool            // the next answer is lost, and its connection breaks
	late  time.Duration   // what is sent arrives so much later
	each  time.Duration   // how long a byte of an answer takes
	dials int             // how often it was asked for a connection
}

// conn is a connection of a network's.
type conn struct {
	net.Conn
	of   *network
	held bool   // what is sent is held back, and so is the end
	kept []byte // what was sent first; the rest is lost
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	held := c.held
	c.of.mu.Unlock()
	if held {
		return c.Conn.SetReadDeadline(time.Unix(1, 0)) // as far as the client can see
	}
	return c.Conn.Close()
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.of.mu.Lock()
	mute, late := c.of.mute, c.of.late
	if c.held {
		if mute = true; c.kept == nil {
			c.kept = slices.Clone(p)
		}
	}
	c.of.mu.Unlock()
	time.Sleep(late)
	if mute {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.of.mu.Lock()
	each := c.of.each
	c.of.mu.Unlock()
	if each > 0 {
		p = p[:min(len(p), 64)]
	}
	k, err := c.Conn.Read(p)
	time.Sleep(time.Duration(k) * each)
	c.of.mu.Lock()
	deaf := c.of.deaf
	c.of.deaf = false
	c.of.mu.Unlock()
	if deaf {
		_ = c.Close()
		return 0, io.EOF
	}
	return k, err
}

func (n *network) dial(_ context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials++
	if n.by != nil {
		c := &conn{Conn: n.by(), of: n}
		n.conns[c] = true
		return c, nil
	}
	if n.srv == nil {
		return nil, errors.New("there is no route to the server")
	}
	nc, err := shardAt(n.srv, addr).Dial()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, of: n}
	n.conns[c] = true
	return c, nil
}

// connect is the way to another server, or to none.
func (n *network) connect(srv *server.Server) {
	n.mu.Lock()
	n.srv = srv
	n.mu.Unlock()
}

// silence has everything get lost that is sent from now on.
func (n *network) silence() {
	n.mu.Lock()
	n.mute = true
	n.mu.Unlock()
}

// holdBack keeps what is sent first by each present connection from now on, and the rest is lost. arrive has
// the server read it, and then the end of those connections, which the client has closed by then.
func (n *network) holdBack() (arrive func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var held []*conn
	for c := range n.conns {
		c.held = true
		held = append(held, c)
	}
	return func() {
		for _, c := range held {
			_ = c.Conn.SetDeadline(time.Time{})
			_, _ = c.Conn.Write(c.kept)
			_ = c.Conn.Close()
		}
	}
}

// delay has what is sent from now on arrive so much later.
func (n *network) delay(by time.Duration) {
	n.mu.Lock()
	n.late = by
	n.mu.Unlock()
}

// slow has each byte of an answer take so long from now on. It returns how often there was a dial so far.
func (n *network) slow(each time.Duration) (dials int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.each = each
	return n.dials
}

// loseAnswer has the next answer lost.
func (n *network) loseAnswer() {
	n.mu.Lock()
	n.deaf = true
	n.mu.Unlock()
}

// breakSome breaks each connection with some probability.
func (n *network) breakSome(probability float64) (broken int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		if rand.Float64() < probability {
			_ = c.Conn.Close()
			delete(n.conns, c)
			broken++
		}
	}
	return broken
}

// start runs a server with leases that last for lease. It listens nowhere, so that all of it can run in a
// bubble of testing/synctest: there its time is the test's, and passes when every goroutine waits.
func start(t *testing.T, lease time.Duration, change ...func(*server.Options)) (*server.Server, *network) {
	t.Helper()
	o := server.Options{Directives: map[string]string{"bind": "", "lock-watchdog-timeout": strconv.FormatInt(lease.Milliseconds(), 10)}}
	for _, f := range change {
		f(&o)
	}
	if shardCount > 1 {
		srv := startWhole(t, o)
		return srv, &network{srv: srv, conns: make(map[*conn]bool)}
	}
	srv, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	return srv, &network{srv: srv, conns: make(map[*conn]bool)}
}

// library is a client of go-redis as a program would make it.
func (n *network) library(t *testing.T) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Dialer: n.dial, Addr: "192.0.2.1:1"}) // a name would be looked up
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// client is a client of the package.
func (n *network) client(t *testing.T, settings ...client.Setting) *client.Client {
	t.Helper()
	var c *client.Client
	var err error
	if shardCount > 1 {
		c, err = client.NewCluster(n.cluster(t, &redis.ClusterOptions{}), settings...)
	} else {
		c, err = client.New(n.library(t), settings...)
	}
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// operator is a connection of another program.
func operator(t *testing.T, srv *server.Server) *testkit.Client {
	if len(wholeOf(srv)) > 1 {
		return testkit.Dial(t, func() (net.Conn, error) { return dialWhole(srv) })
	}
	return testkit.Dial(t, srv.Dial)
}

// ends fails unless the lock's context ends soon, and returns why.
func ends(t *testing.T, l *client.Lock) error {
	t.Helper()
	select {
	case <-l.Context().Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "the lock does not end")
	}
	return context.Cause(l.Context())
}

// isLoss fails unless an error is the loss of a lock for that reason.
func isLoss(t *testing.T, err error, key string, token int64, reason string) {
	t.Helper()
	lost := lossOf(t, err)
	require.Equal(t, []any{key, token, reason}, []any{lost.Key, lost.Token, lost.Reason})
	require.NotEmpty(t, lost.Owner)
}
