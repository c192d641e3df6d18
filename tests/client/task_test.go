package client_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// TestGoroutinesThatShareAContext: the context of a lock makes no two goroutines one owner. One of them is
// inside at a time.
func TestGoroutinesThatShareAContext(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		outer, err := c.Lock(ctx, "outer")
		require.NoError(t, err)
		var inside, served atomic.Int32
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				l, err := c.Lock(outer.Context(), "inner")
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two are inside at once")
				}
				time.Sleep(time.Second)
				inside.Add(-1)
				served.Add(1)
				if err = l.Unlock(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		require.Equal(t, int32(8), served.Load())
	})
}

// TestWaitForItself: a call that waits, with a lock's context, for that lock can never have it, and says so.
func TestWaitForItself(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		outer, err := c.Lock(ctx, "k")
		require.NoError(t, err)
		inner, err := c.Lock(outer.Context(), "other")
		require.NoError(t, err)
		for _, key := range []string{"k", "other"} {
			_, err = c.Lock(inner.Context(), key)
			require.ErrorIs(t, err, client.ErrDeadlock)
			require.ErrorContains(t, err, "Client.Task")
			_, err = c.RLock(inner.Context(), key)
			require.ErrorIs(t, err, client.ErrDeadlock)
			_, err = c.MLock(inner.Context(), []string{key, "third"})
			require.ErrorIs(t, err, client.ErrDeadlock)
			_, err = c.TryLock(inner.Context(), key)
			require.ErrorIs(t, err, client.ErrNotAcquired)
		}
		shared, err := c.RLock(inner.Context(), "shared")
		require.NoError(t, err)
		again, err := c.RLock(shared.Context(), "shared")
		require.NoError(t, err)
		_, err = c.Lock(again.Context(), "shared")
		require.ErrorIs(t, err, client.ErrDeadlock)
		require.NoError(t, again.Unlock(ctx))

		another := (&network{srv: n.srv, conns: make(map[*conn]bool)}).client(t)
		_, err = another.Lock(outer.Context(), "k", client.Wait(time.Second))
		require.ErrorIs(t, err, client.ErrNotAcquired, "another client has other owners")
	})
}

// TestTask: the locks of a task have one owner, whatever context they are asked for with.
func TestTask(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		one, two := c.Task(ctx), c.Task(ctx)
		a, err := c.Lock(one, "a")
		require.NoError(t, err)
		b, err := c.Lock(a.Context(), "b")
		require.NoError(t, err)
		again, err := c.Lock(b.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, a.Owner(), b.Owner())
		require.Equal(t, a.Token(), again.Token())
		_, err = c.TryLock(two, "a")
		require.ErrorIs(t, err, client.ErrNotAcquired)
		_, err = c.TryLock(ctx, "a")
		require.ErrorIs(t, err, client.ErrNotAcquired)
		require.NoError(t, again.Unlock(ctx))
		require.NoError(t, a.Context().Err())
		require.NoError(t, a.Unlock(ctx))
		l, err := c.TryLock(two, "a")
		require.NoError(t, err)
		_, err = c.Lock(one, "a", client.Wait(time.Second))
		require.ErrorIs(t, err, client.ErrNotAcquired)
		require.NoError(t, l.Unlock(ctx))
		l, err = c.Lock(one, "a")
		require.NoError(t, err, "a task outlives its locks")
		require.Equal(t, b.Owner(), l.Owner())
	})
}
