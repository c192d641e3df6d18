package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/call"
	"lockserver/server"
)

func TestLock(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, other := n.client(t, client.Name("shop")), n.client(t)
	l, err := c.Lock(ctx, "order:42")
	require.NoError(t, err)
	require.Positive(t, l.Token())
	require.Regexp(t, "^shop:[a-z2-7]{16}:1$", l.Owner())
	require.NoError(t, l.Context().Err())

	_, err = other.TryLock(ctx, "order:42")
	require.ErrorIs(t, err, client.ErrNotAcquired)
	began := time.Now()
	_, err = other.Lock(ctx, "order:42", client.Wait(30*time.Millisecond))
	require.ErrorIs(t, err, client.ErrNotAcquired)
	require.GreaterOrEqual(t, time.Since(began), 29*time.Millisecond) // the server counts whole ones

	had := make(chan *client.Lock)
	go func() {
		next, err := other.Lock(ctx, "order:42", client.Wait(time.Minute))
		require.NoError(t, err)
		had <- next
	}()
	op := operator(t, srv)
	require.Eventually(t, func() bool { return len(op.Do("LOCK.WAITERS").Elems) > 0 }, 30*time.Second, time.Millisecond)
	require.NoError(t, l.Unlock(ctx))
	require.ErrorIs(t, l.Unlock(ctx), client.ErrReleased, "it was")
	require.ErrorIs(t, context.Cause(l.Context()), client.ErrReleased)
	next := <-had
	require.Greater(t, next.Token(), l.Token())
	require.NoError(t, next.Unlock(ctx))
	require.Equal(t, int64(0), op.Do("EXISTS", "order:42").Int)
}

// TestWaitIsGivenUp: who gives up waiting leaves the queue.
func TestWaitIsGivenUp(t *testing.T) {
	srv, n := start(t, time.Minute)
	c := n.client(t)
	l, err := c.Lock(ctx, "k")
	require.NoError(t, err)
	limited, cancel := context.WithCancel(ctx)
	gone := make(chan error)
	go func() {
		_, err := c.Lock(limited, "k")
		gone <- err
	}()
	op := operator(t, srv)
	waiters := func() int { return len(op.Do("LOCK.WAITERS").Elems) }
	require.Eventually(t, func() bool { return waiters() > 0 }, 30*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	require.Eventually(t, func() bool { return waiters() == 0 }, 30*time.Second, time.Millisecond)
	require.NoError(t, l.Unlock(ctx))
	again, err := c.TryLock(ctx, "k")
	require.NoError(t, err)
	require.NoError(t, again.Unlock(ctx))
}

// TestLoss: a holder hears at once, and why.
func TestLoss(t *testing.T) {
	for reason, command := range map[string][]string{
		"forced":      {"LOCK.FORCE", "k"},
		"deleted":     {"DEL", "k"},
		"overwritten": {"SET", "k", "v"},
		"expired":     {"PEXPIRE", "k", "1"},
	} {
		t.Run(reason, func(t *testing.T) {
			reported := make(chan *client.LostError, 2)
			srv, n := start(t, time.Minute)
			c := n.client(t, client.Observe(client.Hooks{Lost: func(lost *client.LostError) { reported <- lost }}))
			l, err := c.Lock(ctx, "k")
			require.NoError(t, err)
			operator(t, srv).Do(command...)
			cause := ends(t, l)
			require.ErrorIs(t, cause, client.ErrLost)
			isLoss(t, cause, "k", l.Token(), reason)
			require.Equal(t, cause, l.Unlock(ctx))
			require.Equal(t, cause, <-reported)
			require.Empty(t, reported)
		})
	}
}

// TestReentrance: a task takes its locks again.
func TestReentrance(t *testing.T) {
	srv, n := start(t, time.Minute)
	c := n.client(t)
	outer, err := c.Lock(c.Task(ctx), "k")
	require.NoError(t, err)
	inner, err := c.Lock(outer.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, outer.Token(), inner.Token())
	op := operator(t, srv)
	require.Equal(t, "1", op.Do("HGET", "k", outer.Owner()).Str, "on the server it is held once")
	require.NoError(t, inner.Unlock(ctx))
	require.NoError(t, outer.Context().Err())
	_, err = c.TryLock(ctx, "k")
	require.ErrorIs(t, err, client.ErrNotAcquired, "another task")
	require.NoError(t, outer.Unlock(ctx))
	require.Equal(t, int64(0), op.Do("EXISTS", "k").Int)
	_, err = c.Lock(outer.Context(), "k")
	require.ErrorIs(t, err, client.ErrReleased)
}

// TestDeadlock: two tasks that each wait for what the other has.
func TestDeadlock(t *testing.T) {
	srv, n := start(t, time.Minute)
	c := n.client(t)
	a, err := c.Lock(c.Task(ctx), "a")
	require.NoError(t, err)
	b, err := c.Lock(c.Task(ctx), "b")
	require.NoError(t, err)
	got := make(chan error)
	go func() {
		l, err := c.Lock(a.Context(), "b")
		if err == nil {
			err = l.Unlock(ctx)
		}
		got <- err
	}()
	op := operator(t, srv)
	require.Eventually(t, func() bool { return len(op.Do("LOCK.WAITERS").Elems) > 0 }, 30*time.Second, time.Millisecond)
	_, err = c.Lock(b.Context(), "a")
	require.ErrorIs(t, err, client.ErrDeadlock)
	require.NoError(t, b.Unlock(ctx))
	require.NoError(t, <-got)
	require.NoError(t, a.Unlock(ctx))
}

func TestMLock(t *testing.T) {
	srv, n := start(t, time.Minute)
	c := n.client(t)
	l, err := c.MLock(c.Task(ctx), []string{"b", "a", "b"})
	require.NoError(t, err)
	tokens := l.Tokens()
	require.Len(t, tokens, 2)
	require.Equal(t, tokens["a"], l.Token())
	_, err = c.TryLock(ctx, "b")
	require.ErrorIs(t, err, client.ErrNotAcquired)
	part, err := c.Lock(l.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, tokens["b"], part.Token())
	_, err = c.MLock(l.Context(), []string{"b", "c"})
	require.ErrorIs(t, err, client.ErrHeldOtherwise)
	_, err = l.Guard(ctx, "SET", "{k}data", "v")
	require.ErrorContains(t, err, "a lock of 2 keys")
	reply, err := part.Guard(ctx, "SET", "{k}data", "v")
	require.NoError(t, err)
	require.Equal(t, "OK", reply)
	require.NoError(t, part.Unlock(ctx))
	op := operator(t, srv)
	require.Equal(t, int64(2), op.Do("EXISTS", "a", "b").Int)
	require.Equal(t, int64(1), op.Do("LOCK.FORCE", "b").Int)
	require.ErrorIs(t, ends(t, l), client.ErrLost)
	require.Eventually(t, func() bool { return op.Do("EXISTS", "a").Int == 0 }, 30*time.Second, time.Millisecond, "all or nothing")
	_, err = part.Guard(ctx, "SET", "{k}data", "w")
	require.ErrorIs(t, err, client.ErrLost)
	require.Equal(t, "v", op.Do("GET", "{k}data").Str)
}

// TestGuardIsSentOnce: though the library would, a guarded command is not done twice.
func TestGuardIsSentOnce(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, op := n.client(t), operator(t, srv)
	l, err := c.Lock(ctx, "k")
	require.NoError(t, err)
	_, err = l.Guard(ctx, "SET", "{k}data", "v") // the library has a connection now
	require.NoError(t, err)
	n.loseAnswer()
	_, err = l.Guard(ctx, "INCR", "{k}n")
	require.Error(t, err)
	require.NotErrorIs(t, err, client.ErrLost)
	require.Equal(t, "1", op.Do("GET", "{k}n").Str)
	reply, err := l.Guard(ctx, "INCR", "{k}n")
	require.NoError(t, err)
	require.Equal(t, int64(2), reply)
	n.loseAnswer()
	require.NoError(t, l.Unlock(ctx), "which may be sent again")
	require.Equal(t, int64(0), op.Do("EXISTS", "k").Int)
}

// TestRestart: a server that starts again within the lease has lost nothing.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	durable := func(o *server.Options) { o.Dir, o.AppendOnly, o.AppendFsync = dir, true, "always" }
	srv, n := start(t, 20*time.Second, durable)
	c := n.client(t)
	l, err := c.Lock(ctx, "k")
	require.NoError(t, err)
	n.connect(nil)
	require.NoError(t, endWhole(srv))
	srv, other := start(t, 20*time.Second, durable)
	n.connect(other.srv)
	require.Eventually(t, func() bool {
		_, err = l.Guard(ctx, "SET", "{k}data", "v") // the library's old connection is broken
		return err == nil
	}, 30*time.Second, time.Millisecond)
	op := operator(t, srv)
	require.Eventually(t, func() bool {
		return len(call.FieldsOf(op.Do("LOCK.INFO", "k")).List("attached")) == 1
	}, 30*time.Second, 10*time.Millisecond, "it vouches again")
	require.NoError(t, l.Context().Err())
	require.NoError(t, l.Unlock(ctx))
}

func TestReadersAndWriters(t *testing.T) {
	_, n := start(t, time.Minute)
	c := n.client(t)
	one, err := c.RLock(ctx, "k")
	require.NoError(t, err)
	two, err := c.RLock(ctx, "k")
	require.NoError(t, err)
	_, err = c.TryLock(ctx, "k")
	require.ErrorIs(t, err, client.ErrNotAcquired)
	require.NoError(t, one.Unlock(ctx))
	require.NoError(t, two.Unlock(ctx))
	writer, err := c.TryLock(ctx, "k")
	require.NoError(t, err)
	_, err = c.RLock(ctx, "k", client.Wait(10*time.Millisecond))
	require.ErrorIs(t, err, client.ErrNotAcquired)
	require.NoError(t, writer.Unlock(ctx))
}

// TestTrace: the server keeps the trace that a call names, and refuses one that is not valid.
func TestTrace(t *testing.T) {
	srv, n := start(t, time.Minute)
	c, op := n.client(t), operator(t, srv)
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	l, err := c.Lock(ctx, "k", client.Trace(trace))
	require.NoError(t, err)
	require.Contains(t, op.Do("LOCK.INFO", "k").String(), trace)
	require.NoError(t, l.Unlock(ctx))
	p, err := c.Semaphore("pool", 2).Acquire(ctx, client.Trace(trace))
	require.NoError(t, err)
	require.Contains(t, op.Do("LOCK.INFO", "pool").String(), trace)
	require.NoError(t, p.Release(ctx))
	_, err = c.Lock(ctx, "k", client.Trace("4bf92f35"))
	var refused client.ReplyError
	require.ErrorAs(t, err, &refused)
	l, err = c.Lock(ctx, "k", client.Trace(""))
	require.NoError(t, err)
	require.NoError(t, l.Unlock(ctx))
}
