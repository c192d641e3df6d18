package client_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/testkit"
)

// TestReplacedByARedis: where a client's server was, there is a plain Redis. Every call says so.
func TestReplacedByARedis(t *testing.T) {
	rate := client.Rate{Burst: 1, Count: 1, Period: time.Second}
	calls := map[string]func(c *client.Client) error{
		"Lock":         func(c *client.Client) error { return second(c.Lock(ctx, "k")) },
		"TryLock":      func(c *client.Client) error { return second(c.TryLock(ctx, "k")) },
		"RLock":        func(c *client.Client) error { return second(c.RLock(ctx, "k")) },
		"MLock":        func(c *client.Client) error { return second(c.MLock(ctx, []string{"a", "b"})) },
		"Acquire":      func(c *client.Client) error { return second(c.Semaphore("s", 1).Acquire(ctx)) },
		"Resize":       func(c *client.Client) error { return second(c.Semaphore("s", 1).Resize(ctx, 2)) },
		"Take":         func(c *client.Client) error { return second(c.Limiter("l", rate).Take(ctx)) },
		"Limiter.Wait": func(c *client.Client) error { return second(c.Limiter("l", rate).Wait(ctx)) },
		"Buy":          func(c *client.Client) error { return second(c.Sale("v").Buy(ctx, "u", "o")) },
		"Add":          func(c *client.Client) error { return third(c.Delay("d").Add(ctx, "i", client.After(0), "a", "b")) },
		"Set":          func(c *client.Client) error { return second(c.Latch("l").Set(ctx, 1)) },
		"Down":         func(c *client.Client) error { return second(c.Latch("l").Down(ctx)) },
		"Latch.Wait":   func(c *client.Client) error { return c.Latch("l").Wait(ctx) },
		"Campaign":     func(c *client.Client) error { return c.Campaign(ctx, "k", func(context.Context) error { return nil }) },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
				n.mu.Lock()
				n.by = func() net.Conn {
					near, far := net.Pipe()
					go answerAsRedis(far)
					return near
				}
				n.mu.Unlock()
				n.breakSome(1)
				synctest.Wait()
				began := time.Now()
				require.ErrorIs(t, call(c), client.ErrNotLockserver)
				require.Less(t, time.Since(began), time.Minute)
			})
		})
	}
}
