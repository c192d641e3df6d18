package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
)

// TestSilentServer: a call ends within its own limit when the server is silent, and not with the client's
// timeout, which is an hour here.
func TestSilentServer(t *testing.T) {
	const limit = 200 * time.Millisecond
	rate := client.Rate{Burst: 1, Count: 1, Period: time.Second}
	type call func(ctx context.Context, c *client.Client, l *client.Lock) error
	calls := map[string]call{
		"Lock with Wait": func(_ context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Lock(context.Background(), "other", client.Wait(limit)))
		},
		"Lock with Wait of what is held": func(_ context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Lock(context.Background(), "k", client.Wait(limit)))
		},
		"TryLock with Wait": func(_ context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.TryLock(context.Background(), "other", client.Wait(limit)))
		},
		"MLock with Wait": func(_ context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.MLock(context.Background(), []string{"a", "b"}, client.Wait(limit)))
		},
		"Acquire with Wait": func(_ context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Semaphore("s", 1).Acquire(context.Background(), client.Wait(limit)))
		},
		"Lock": func(ctx context.Context, c *client.Client, _ *client.Lock) error { return second(c.Lock(ctx, "other")) },
		"TryLock": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.TryLock(ctx, "other"))
		},
		"RLock": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.RLock(ctx, "other"))
		},
		"Guard": func(ctx context.Context, _ *client.Client, l *client.Lock) error {
			return second(l.Guard(ctx, "SET", "a", 1))
		},
		"Unlock": func(ctx context.Context, _ *client.Client, l *client.Lock) error { return l.Unlock(ctx) },
		"Acquire": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Semaphore("s", 1).Acquire(ctx))
		},
		"TryAcquire": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Semaphore("s", 1).TryAcquire(ctx))
		},
		"Resize": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Semaphore("s", 1).Resize(ctx, 2))
		},
		"Take": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Limiter("l", rate).Take(ctx))
		},
		"Limiter.Wait": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Limiter("l", rate).Wait(ctx))
		},
		"Latch.Wait": func(ctx context.Context, c *client.Client, _ *client.Lock) error { return c.Latch("latch").Wait(ctx) },
		"Set": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Latch("latch").Set(ctx, 1))
		},
		"Count": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Latch("latch").Count(ctx))
		},
		"Down": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Latch("latch").Down(ctx))
		},
		"Buy": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Sale("v").Buy(ctx, "u", "o"))
		},
		"Confirm": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Sale("v").Confirm(ctx, "u", "o"))
		},
		"Sale.Cancel": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Sale("v").Cancel(ctx, "u", "o"))
		},
		"Add": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return third(c.Delay("d").Add(ctx, "i", client.After(0), "a", "b"))
		},
		"Delay.Cancel": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Delay("d").Cancel(ctx, "i"))
		},
		"Move": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Delay("d").Move(ctx, "i", client.After(0)))
		},
		"Get": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return third(c.Delay("d").Get(ctx, "i"))
		},
		"List": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Delay("d").List(ctx, time.Time{}, 0))
		},
		"Delay.Count": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return second(c.Delay("d").Count(ctx))
		},
		"Campaign": func(ctx context.Context, c *client.Client, _ *client.Lock) error {
			return c.Campaign(ctx, "other", func(context.Context) error { return nil })
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(2 * time.Hour) }) // what Close has left is tried once more
				_, n := start(t, lease)
				c := n.client(t, client.Timeout(time.Hour))
				l, err := c.Lock(ctx, "k")
				require.NoError(t, err)
				n.silence()
				limited, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				began := time.Now()
				err = call(limited, c, l)
				require.LessOrEqual(t, time.Since(began), limit)
				if limited.Err() == nil { // its own Wait
					require.ErrorIs(t, err, client.ErrNotAcquired)
				} else {
					require.Error(t, err)
				}
			})
		})
	}
}

// TestSilentServerWhileLeading: a leader gives up the lead at the end of its context, without waiting for
// a server that is silent. The lock is released when the server answers again.
func TestSilentServerWhileLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(2 * time.Hour) })
		srv, n := start(t, lease)
		c := n.client(t, client.Timeout(time.Hour))
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		began := time.Now()
		err := c.Campaign(limited, "leader", func(ctx context.Context) error {
			n.silence()
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		n.mu.Lock()
		n.mute = false
		n.mu.Unlock()
		time.Sleep(lease)
		require.Empty(t, operator(t, srv).Do("LOCK.INFO", "leader").Elems)
	})
}
