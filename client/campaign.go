package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Campaign has lead run while the caller is the only one who holds the lock at key: the leader. It waits
// until it is, however long that takes, and campaigns again when the lead was lost, which ends the context
// that lead was given; lead must return then. Campaign returns what lead does while it leads, the cause of
// ctx's end, or [ErrClosed] after [Client.Close]. A server that does not answer is asked again until then.
// A panic in lead releases the lock and goes on to the caller. After the end of ctx the lock is released
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

// lead has the function lead run with the lock, and releases the lock however the function ends: by a return,
// a panic or runtime.Goexit. It reports whether the lock was lost before that.
func (l *Lock) lead(ctx context.Context, lead func(ctx context.Context) error) (lost bool, err error) {
	defer func() {
		lost = errors.Is(context.Cause(l.Context()), ErrLost)
		_ = l.Unlock(ctx) // a command without an answer is sent again later, after the end of ctx as well
	}()
	return false, lead(l.Context())
}

// Locker is the lock at key as a [sync.Locker], for code that takes one. Lock waits as [Client.Lock] does,
// and panics if the lock cannot be had by then; Unlock panics if the lock was lost, and is bounded by
// [Timeout]. Like a mutex it is for any
// number of goroutines, and not reentrant.
func (c *Client) Locker(ctx context.Context, key string) sync.Locker {
	return &locker{client: c, ctx: ctx, key: key}
}

type locker struct {
	client *Client
	ctx    context.Context
	key    string
	held   *Lock // belongs to the goroutine that has locked
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
