package client_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/testkit"
)

// becomesRedis has a plain Redis answer where the server was.
func (n *network) becomesRedis(by func() net.Conn) {
	n.mu.Lock()
	n.by = by
	n.mu.Unlock()
	n.breakSome(1)
}

// TestReplacedByARedis: where a client's server was, there is a plain Redis. Every call says so.
func TestReplacedByARedis(t *testing.T) {
	for name, call := range asking() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
				s := subjectOf(t, c)
				n.becomesRedis(func() net.Conn {
					near, far := net.Pipe()
					go answerAsRedis(far)
					return near
				})
				synctest.Wait()
				began := time.Now()
				require.ErrorIs(t, call(ctx, s), client.ErrNotLockserver)
				require.Less(t, time.Since(began), time.Minute)
			})
		})
	}
}
