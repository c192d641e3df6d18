package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/tests/testkit"
)

// TestLimits: several limiters give their units together or not at all, and take units back.
func TestLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		second := c.Limiter("{ann}second", client.Rate{Burst: 2, Count: 2, Period: time.Second})
		day := c.Limiter("{ann}day", client.Rate{Burst: 3, Count: 3, Period: 3 * time.Minute})
		both := []client.Limiter{second, day}
		a, err := c.TakeLimits(ctx, both, 2)
		require.NoError(t, err)
		require.Equal(t, client.TakenAll{Allowed: true, ResetAfter: 2 * time.Minute}, a)
		time.Sleep(time.Second)
		a, err = c.TakeLimits(ctx, both, 2)
		require.NoError(t, err)
		require.Equal(t, client.TakenAll{RefusedBy: 2, Remaining: 1, RetryAfter: 59 * time.Second, ResetAfter: 119 * time.Second}, a)
		of, err := second.Take(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, 2, of.Remaining, "the first one has given nothing")
		a, err = c.TakeLimits(ctx, both, 0)
		require.NoError(t, err)
		require.True(t, a.Allowed)
		require.Equal(t, 1, a.Remaining)

		back, err := day.Give(ctx)
		require.NoError(t, err)
		require.Equal(t, client.Taken{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: 59 * time.Second}, back)
		back, err = day.Give(ctx, 3)
		require.NoError(t, err)
		require.Equal(t, 3, back.Remaining, "never more than full")
		require.Equal(t, int64(0), op.Do("EXISTS", "{ann}day").Int)

		// The call that waits has taken nothing, and is served when units are given back.
		_, err = day.Take(ctx, 3)
		require.NoError(t, err)
		came := make(chan error, 1)
		go func() {
			a, err := c.WaitLimits(ctx, both)
			if err == nil && !a.Allowed {
				err = client.ErrNotAcquired
			}
			came <- err
		}()
		synctest.Wait()
		of, err = second.Take(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, 2, of.Remaining)
		n.breakSome(1) // its places in the queues outlive the connection
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, waiters(op))
		_, err = day.Give(ctx)
		require.NoError(t, err)
		require.NoError(t, <-came)
		of, err = second.Take(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, 1, of.Remaining)

		limited, cancel := context.WithTimeout(ctx, time.Second)
		_, err = c.WaitLimits(limited, both)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		synctest.Wait()
		require.Zero(t, waiters(op))
		began := time.Now()
		a, err = c.WaitLimits(ctx, both)
		require.NoError(t, err)
		require.True(t, a.Allowed)
		require.Greater(t, time.Since(began), 50*time.Second)
		go func() {
			_, err := c.WaitLimits(ctx, both)
			came <- err
		}()
		synctest.Wait()
		c.Close()
		require.ErrorIs(t, <-came, client.ErrClosed)
	})
}

// TestGivenOnce: the answer of Give is lost. It is not sent again, so that no unit is given back twice.
func TestGivenOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, n *network, c *client.Client, op *testkit.Client) {
		l := c.Limiter("l", client.Rate{Burst: 5, Count: 5, Period: time.Hour})
		_, err := l.Take(ctx, 4)
		require.NoError(t, err)
		n.loseAnswer()
		_, err = l.Give(ctx)
		require.Error(t, err)
		connectedAnew := func() {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		connectedAnew()
		n.loseAnswer()
		_, err = c.TakeLimits(ctx, []client.Limiter{l})
		require.Error(t, err)
		connectedAnew() // what is sent once does not survive a connection that is about to break
		a, err := l.Take(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, 1, a.Remaining)
	})
}
