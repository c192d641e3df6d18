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
	calls := asking()
	for name, call := range map[string]func(c *client.Client) error{
		"Lock with Wait":                 func(c *client.Client) error { return second(c.Lock(ctx, "other", client.Wait(limit))) },
		"Lock with Wait of what is held": func(c *client.Client) error { return second(c.Lock(ctx, "k", client.Wait(limit))) },
		"TryLock with Wait":              func(c *client.Client) error { return second(c.TryLock(ctx, "other", client.Wait(limit))) },
		"MLock with Wait":                func(c *client.Client) error { return second(c.MLock(ctx, []string{"a", "b"}, client.Wait(limit))) },
		"Acquire with Wait":              func(c *client.Client) error { return second(c.Semaphore("s", 1).Acquire(ctx, client.Wait(limit))) },
	} {
		calls[name] = func(_ context.Context, s subject) error { return call(s.Client) }
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				t.Cleanup(func() { time.Sleep(2 * time.Hour) }) // what Close has left is tried once more
				_, n := start(t, lease)
				c := n.client(t, client.Timeout(time.Hour))
				s := subjectOf(t, c)
				n.silence()
				limited, cancel := context.WithTimeout(ctx, limit)
				defer cancel()
				began := time.Now()
				err := call(limited, s)
				require.LessOrEqual(t, time.Since(began), limit)
				switch {
				case name == "Worker.Run": // which has been stopped
					require.NoError(t, err)
				case limited.Err() == nil: // its own Wait
					require.ErrorIs(t, err, client.ErrNotAcquired)
				default:
					require.Error(t, err)
				}
			})
		})
	}
}

// TestSilentServerWhileLeading: a leader gives up the lead at the end of its context, without waiting for
// a server that is silent. The lock is released by the next connection.
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
		synctest.Wait() // the release was sent, and is lost
		n.mu.Lock()
		n.mute = false
		n.mu.Unlock()
		n.breakSome(1) // a connection that has lost something does not go on
		time.Sleep(lease)
		require.Empty(t, operator(t, srv).Do("LOCK.INFO", "leader").Elems)
	})
}
