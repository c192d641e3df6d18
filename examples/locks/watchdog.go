package main

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrLost ends the context of the work when its lock is lost: the connection broke, or the lock was deleted
// or forced.
var ErrLost = errors.New("the lock was lost")

const (
	watchEvery = time.Second
	// standFor is how long one LOCK waits. It is repeated until ctx ends; a shorter time detects that sooner.
	standFor = 20 * time.Second
)

// WhileHeld waits for the lock, runs work, and releases it. The context that work
// gets ends when the lock is lost.
//
// There is no lease to choose: the server renews a LOCK without one for as long as the connection that
// acquired it lives. So the lock has a connection of its own here. A connection from a shared pool might be
// closed for being idle, which loses the lock. Or it might live on for other requests after this process has
// released the lock, which keeps it.
func WhileHeld(ctx context.Context, options redis.Options, key string, work func(ctx context.Context, token int64) error) error {
	options.PoolSize = 1
	options.MaxRetries = -1                      // a connection that broke has ended the renewal: it must not be replaced unheard
	options.ReadTimeout = standFor + time.Second // the answer to a LOCK that waits takes as long as the wait
	options.ConnMaxIdleTime, options.ConnMaxLifetime = -1, -1
	client := redis.NewClient(&options)
	defer client.Close() // whatever happens: the connection ends, the renewal with it, and the lock with its lease
	conn := client.Conn()
	defer conn.Close()

	owner := rand.Text() // a unique name: an owner of the same name would share the lock
	token, err := stand(ctx, conn, key, owner)
	if err != nil {
		return err
	}
	held, lose := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { watchOver(held, lose, conn, key, owner, token) })
	err = work(held, token)
	lose(nil)
	watch.Wait()
	// Also when ctx has ended: the next one in line need not wait for the end of the lease.
	released := conn.Do(context.WithoutCancel(ctx), "UNLOCK", key, owner, "TOKEN", token).Err()
	if errors.Is(released, redis.Nil) {
		released = ErrLost
	}
	return errors.Join(err, released)
}

// stand waits until the lock is ours. The server keeps the place in the queue, first come first served. When
// one wait has timed out, the next one begins at the end of the queue.
func stand(ctx context.Context, conn *redis.Conn, key, owner string) (token int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		token, err = conn.Do(ctx, "LOCK", key, owner, "WAIT", standFor.Milliseconds()).Int64()
		if !errors.Is(err, redis.Nil) {
			return token, err
		}
	}
}

// watchOver loses the lock when the server says so, or cannot be asked. RENEW with the token is the question:
// it extends nothing that is not ours.
func watchOver(ctx context.Context, lose context.CancelCauseFunc, conn *redis.Conn, key, owner string, token int64) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if held, err := conn.Do(ctx, "RENEW", key, owner, "TOKEN", token).Int(); err != nil || held == 0 {
			lose(ErrLost)
			return
		}
	}
}
