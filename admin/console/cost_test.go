package console

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/call"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// countedBackend counts what a console asks of its server, and the replies, in bytes.
type countedBackend struct {
	*server.Server
	bytes atomic.Int64
}

func (b *countedBackend) DialAudited() (net.Conn, error) {
	nc, err := b.Server.DialAudited()
	return &countedConn{nc, b}, err
}

type countedConn struct {
	net.Conn
	of *countedBackend
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.of.bytes.Add(int64(len(p)))
	return c.Conn.Write(p)
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.of.bytes.Add(int64(n))
	return n, err
}

// TestARefreshAsksForABoundedPart: what a page asks of the server each time, and gets, does not depend on the
// number of locks, of waiters, or of delayed entries.
func TestARefreshAsksForABoundedPart(t *testing.T) {
	w := newWorld(t)
	b := &countedBackend{Server: w.srv}
	w.console.backend = b
	asked := func() map[string]int64 {
		cost := make(map[string]int64)
		for _, v := range views() {
			w.get(v.path + "?key=order:0") // logs in
			before := b.bytes.Load()
			require.Equal(t, http.StatusOK, w.get(v.path+"?key=order:0").Code, v.path)
			cost[v.path] = b.bytes.Load() - before
		}
		return cost
	}
	locked, waited := 0, 0
	fill := func(locks, waiters int) {
		for ; locked < locks; locked++ {
			w.client.Do("LOCK", fmt.Sprint("order:", locked), fmt.Sprintf("worker-%06d", locked), "PX", "3600000")
			w.client.Do("DELAY.ADD", "mails", "PX", "3600000", "to", "ann")
		}
		waits := testkit.Dial(t, w.srv.Dial)
		for ; waited < waiters; waited++ {
			reply := waits.Do("LOCK", fmt.Sprint("order:", waited%3), fmt.Sprintf("waiter-%06d", waited), "PX", "3600000", "WAIT", "0", "NOTIFY")
			require.Equal(t, "+QUEUED", reply.String())
		}
		require.EqualValues(t, waiters, call.FieldsOf(w.client.Do("LOCK.STATS")).Int("waiting"))
	}
	fill(1_100, 1_100)
	few := asked()
	fill(10_000, 5_000)
	for path, bytes := range asked() {
		require.Less(t, bytes, few[path]*5/4+1024, path)
	}
}
