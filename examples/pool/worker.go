package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
)

// names holds the names of the locks.
var names = [...]string{"orders", "stock", "mail", "prices", "reports", "refunds"}

// How long a worker holds a lock, how often it writes in that time, and how long it waits for a lock before
// it tries another.
const (
	shortest, longest = 400 * time.Millisecond, 2500 * time.Millisecond
	writeEvery        = 20 * time.Millisecond
	waitFor           = 20 * time.Second
)

// held is a lock that a worker holds: a *client.Lock, or a fake in tests.
type held interface {
	Token() int64
	// Context ends when the lock is lost or released.
	Context() context.Context
	// Guard runs a command on the server, if the lock is still held there.
	Guard(ctx context.Context, args ...any) (any, error)
	Unlock(ctx context.Context) error
}

// pool is a set of workers that share locks.
type pool struct {
	history *history
	data    *ledger
	take    func(ctx context.Context, key string) (held, error)
	locks   int
}

// byClient acquires locks with package client. The server renews them as long as the program lives, whichever
// server leads.
func byClient(c *client.Client) func(context.Context, string) (held, error) {
	return func(ctx context.Context, key string) (held, error) {
		lock, err := c.Lock(ctx, key, client.Wait(waitFor))
		if err != nil {
			return nil, err
		}
		return lock, nil
	}
}

func key(lock int) string     { return names[lock] + ":lock" }
func counter(lock int) string { return names[lock] + ":done" }

// work takes one lock after the other until ctx ends. An error means that no server answered in time, for
// example without a leader: the worker tries again.
func (p *pool) work(ctx context.Context, worker int) {
	for ctx.Err() == nil {
		lock := rand.IntN(p.locks)
		began := p.history.now()
		have, err := p.take(ctx, key(lock))
		p.history.waited(worker, lock, began)
		if err == nil {
			p.hold(ctx, worker, lock, have)
			continue
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// hold works while the lock is held, and releases it.
func (p *pool) hold(ctx context.Context, worker, lock int, have held) {
	p.data.enter(lock, worker, have.Token())
	s := hold{worker: worker, lock: lock, token: have.Token(), from: p.history.now()}
	p.write(have.Context(), worker, lock, have.Token())

	// For data in lockserver, the server itself checks that the lock is held.
	_, err := have.Guard(have.Context(), "INCR", counter(lock))
	p.data.counted(lock, err)

	s.lost = errors.Is(context.Cause(have.Context()), client.ErrLost)
	p.data.leave(lock, worker)
	s.to = p.history.now()
	p.history.holds(s)

	// The client completes commands without an answer later.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	_ = have.Unlock(limited)
}

// write writes to the ledger. It ends after the time of a hold, or when the lock is lost.
func (p *pool) write(ctx context.Context, worker, lock int, token int64) {
	done := time.After(shortest + rand.N(longest-shortest))
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		if ctx.Err() != nil || p.data.write(lock, worker, token) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// compare checks that every increment that the group acknowledged is there.
func (p *pool) compare(ctx context.Context, rdb redis.Cmdable) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for lock := range p.locks {
		n, err := p.read(ctx, rdb, counter(lock))
		if err != nil {
			return fmt.Errorf("what was acknowledged cannot be read: %w", err)
		}
		p.data.compare(lock, n)
	}
	return nil
}

// read asks until a leader answers.
func (p *pool) read(ctx context.Context, rdb redis.Cmdable, key string) (int64, error) {
	for {
		text, err := rdb.Get(ctx, key).Result()
		switch {
		case errors.Is(err, redis.Nil):
			return 0, nil
		case err == nil:
			return strconv.ParseInt(text, 10, 64)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return 0, errors.Join(context.Cause(ctx), err)
		}
	}
}
