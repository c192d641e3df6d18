package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Latch is a count that goes down once. It is open when the count is 0.
type Latch struct {
	client *Client
	key    string
}

// Latch returns the latch at key. Nothing is sent. A latch that was never set is open.
func (c *Client) Latch(key string) Latch { return Latch{c, key} }

// Set closes the latch with a count. done is false if the latch was closed already. If the connection broke,
// an earlier attempt of this call may have closed it.
func (l Latch) Set(ctx context.Context, count int) (done bool, err error) {
	if err := cmp.Or(named("a key", l.key), atLeast(1, "a count", count)); err != nil {
		return false, err
	}
	n, err := l.client.number(ctx, []string{"LATCH.SET", l.key, strconv.Itoa(count)})
	return n == 1, err
}

// Count returns the rest of the count; 0: the latch is open.
func (l Latch) Count(ctx context.Context) (int, error) {
	if err := named("a key", l.key); err != nil {
		return 0, err
	}
	n, err := l.client.number(ctx, []string{"LATCH.GET", l.key})
	return int(max(n, 0)), err
}

// Down lowers the count by one, or by the given number, and returns the rest. It is sent once, over the
// client's own connection: after an error of the connection it may have been done or not. It returns at the
// end of ctx, and within [Timeout] in any case.
func (l Latch) Down(ctx context.Context, by ...int) (left int, err error) {
	count, err := one("a count", 1, 1, by)
	if err = cmp.Or(named("a key", l.key), err); err != nil {
		return 0, err
	}
	words := []string{"LATCH.DOWN", l.key, strconv.Itoa(count)}
	limited, cancel := context.WithTimeoutCause(ctx, l.client.limit, ErrNoAnswer)
	defer cancel()
	reply, err := l.client.keeper.sendOnce(limited, l.key, words)
	if err != nil {
		return 0, replied(err)
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("LATCH.DOWN: the reply is %v, no number", reply)
	}
	return int(n), nil
}

// Wait returns nil when the latch is open, ctx's error with its cause when ctx ends first, or [ErrClosed]
// after [Client.Close]. It returns an error that the server replied. While the server cannot be reached it
// waits. All calls of a client that wait for one latch share a connection, besides the client's own.
func (l Latch) Wait(ctx context.Context) error {
	if err := named("a key", l.key); err != nil {
		return err
	}
	k := l.client.keeper
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if !k.enter() {
		return ErrClosed
	}
	defer k.calls.Done()
	lw := k.joinLatch(l.key)
	defer k.leaveLatch(l.key, lw)
	select {
	case <-lw.open:
		return replied(lw.err)
	case <-ctx.Done():
		return ended(ctx)
	case <-k.leaving.Done():
		return ErrClosed
	}
}

// latchAsk is how long the server waits before it answers that a latch is still closed.
const latchAsk = 30 * time.Second

// joinLatch returns the wait for a latch, and begins it if there is none.
func (k *keeper) joinLatch(key string) *latchWait {
	k.mu.Lock()
	defer k.mu.Unlock()
	lw := k.latches[key]
	if lw == nil {
		lw = &latchWait{open: make(chan struct{})}
		var ctx context.Context
		ctx, lw.stop = context.WithCancel(k.leaving)
		k.latches[key] = lw
		go k.awaitLatch(ctx, key, lw)
	}
	lw.users++
	return lw
}

// leaveLatch ends the wait for a latch when its last call returns.
func (k *keeper) leaveLatch(key string, lw *latchWait) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if lw.users--; lw.users == 0 {
		lw.stop()
		k.dropLatch(key, lw)
	}
}

// dropLatch lets the next call begin a wait of its own; the caller holds mu.
func (k *keeper) dropLatch(key string, lw *latchWait) {
	if k.latches[key] == lw {
		delete(k.latches, key)
	}
}

// awaitLatch waits for a latch over connections of its own until the latch is open, the server refuses, or
// ctx ends.
func (k *keeper) awaitLatch(ctx context.Context, key string, lw *latchWait) {
	for wait := pause; ctx.Err() == nil; wait = min(2*wait, longestPause) {
		over, err := k.askLatch(ctx, key)
		if over {
			k.mu.Lock()
			k.dropLatch(key, lw) // first: a call that comes now begins a wait of its own
			k.mu.Unlock()
			lw.err = err
			close(lw.open)
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// askLatch waits once, over a new connection. over: the latch is open, or the server has refused with err.
func (k *keeper) askLatch(ctx context.Context, key string) (over bool, err error) {
	w, err := dialWire(ctx, k.dialFor(key), k.client.name, func(*wire, push) {})
	if err != nil {
		return false, err
	}
	defer w.close(ErrClosed)
	for {
		limited, cancel := context.WithTimeout(ctx, latchAsk+k.client.limit)
		reply, err := w.do(limited, "LATCH.WAIT", key, "WAIT", strconv.FormatInt(latchAsk.Milliseconds(), 10))
		cancel()
		switch {
		case !isReply(err):
			k.follow(err, key, k.knownAddr(key))
			return false, err
		case err != nil || reply == int64(1):
			return true, err
		}
	}
}

var errNotDone = errors.New("it may have been done or not")

// sendOnce sends a command about a key by the client's connection, as soon as there is a connection. A shard
// that redirects the command has not done it.
func (k *keeper) sendOnce(ctx context.Context, key string, words []string) (any, error) {
	for hops := 0; ; {
		s, err := k.shardOf(ctx, key)
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		w, foreign := s.wire, k.foreign
		k.mu.Unlock()
		if k.isClosed() {
			return nil, ErrClosed
		}
		rest := pause
		if w != nil {
			select {
			case a := <-w.send(words...):
				switch {
				case a.err == nil || isReply(a.err):
					return a.value, a.err
				case !k.follow(a.err, key, s.addr) && !isUnserved(a.err):
					return nil, fmt.Errorf("%w: %w", errNotDone, a.err)
				}
				hops++
				rest = hopPause(hops)
			case <-ctx.Done():
				return nil, fmt.Errorf("%w: %w", errNotDone, ended(ctx))
			}
		}
		select {
		case <-time.After(rest):
		case <-foreign:
			return nil, ErrNotLockserver
		case <-ctx.Done():
			k.mu.Lock()
			defer k.mu.Unlock()
			return nil, s.whyEnded(ctx)
		}
	}
}
