package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Campaign calls lead while the caller is the only holder of the lock at key: the leader. It waits until the
// caller is the leader, however long that takes. If the lock is lost, the context of lead ends and lead must
// return; then Campaign waits again. Campaign returns the result of lead if the lock was not lost, the cause
// of ctx's end, or [ErrClosed] after [Client.Close]. A server that does not answer is asked again until then.
//
// A panic in lead releases the lock and continues in the caller. After the end of ctx the lock is released
// without waiting for the answer.
func (c *Client) Campaign(ctx context.Context, key string, lead func(ctx context.Context) error) error {
	if lead == nil {
		return bad("no function to lead with")
	}
	for attempt := 0; ; attempt++ {
		l, err := c.Lock(ctx, key)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = l.Unlock(ctx)
			}
			return context.Cause(ctx)
		case errors.Is(err, ErrClosed), errors.Is(err, ErrValue), err != nil && isReply(err) && !errors.Is(err, ErrLost):
			return err
		case err != nil: // the server cannot be reached
			select {
			case <-time.After(pauses[min(attempt, len(pauses)-1)]):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		attempt = 0
		if lost, err := l.lead(ctx, lead); !lost {
			return err
		}
	}
}

// lead calls the function lead with the lock. It releases the lock however the function ends: by a return, a
// panic or runtime.Goexit. It reports whether the lock was lost before that.
func (l *Lock) lead(ctx context.Context, lead func(ctx context.Context) error) (lost bool, err error) {
	defer func() {
		lost = errors.Is(context.Cause(l.Context()), ErrLost)
		_ = l.Unlock(ctx) // a command without an answer is sent again later, even after the end of ctx
	}()
	return false, lead(l.Context())
}

// Locker is the lock at key as a [sync.Locker], for code that takes a Locker. Lock waits as [Client.Lock]
// does, and panics if it does not get the lock. Unlock panics if the lock was lost, and returns within
// [Timeout]. As a mutex it may be used by any number of goroutines, and is not reentrant.
func (c *Client) Locker(ctx context.Context, key string) sync.Locker {
	return &locker{client: c, ctx: ctx, key: key}
}

type locker struct {
	client *Client
	ctx    context.Context
	key    string
	held   *Lock // belongs to the goroutine that has called Lock
}

func (l *locker) Lock() {
	held, err := l.client.Lock(l.ctx, l.key)
	if err != nil {
		panic(err)
	}
	l.held = held
}

func (l *locker) Unlock() {
	held := l.held
	l.held = nil
	if err := held.Unlock(context.WithoutCancel(l.ctx)); errors.Is(err, ErrLost) {
		panic(err)
	}
}
