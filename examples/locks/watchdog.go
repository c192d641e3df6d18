package main

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrLost is the cause of the end of the work's context when the lock is lost: the connection broke, or the
// lock was deleted or forced.
var ErrLost = errors.New("the lock was lost")

const (
	watchEvery = time.Second
	// standFor is how long one LOCK waits. It is repeated until ctx ends; with a shorter time the end of ctx
	// is noticed sooner.
	standFor = 20 * time.Second
)

// WhileHeld waits for the lock, runs work, and releases it. The context of work ends when the lock is lost.
//
// There is no lease to choose: the server renews a LOCK without a lease as long as the connection that
// acquired it lives. So the lock has its own connection here. A connection from a shared pool might be closed
// because it is idle: then the lock is lost. Or it might serve other requests after this process has released
// the lock: then the lock is renewed for too long.
func WhileHeld(ctx context.Context, options redis.Options, key string, work func(ctx context.Context, token int64) error) error {
	options.PoolSize = 1
	options.MaxRetries = -1                      // the end of the connection ends the renewal, so it must not be replaced silently
	options.ReadTimeout = standFor + time.Second // the reply to a waiting LOCK takes as long as the wait
	options.ConnMaxIdleTime, options.ConnMaxLifetime = -1, -1
	client := redis.NewClient(&options)
	defer client.Close() // in any case: the end of the connection ends the renewal, and the lock ends with its lease
	conn := client.Conn()
	defer conn.Close()

	owner := rand.Text() // a unique name: another holder with the same name would share the lock
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
	// Also after ctx has ended, so that the next waiter need not wait for the end of the lease.
	released := conn.Do(context.WithoutCancel(ctx), "UNLOCK", key, owner, "TOKEN", token).Err()
	if errors.Is(released, redis.Nil) {
		released = ErrLost
	}
	return errors.Join(err, released)
}

// stand waits until we hold the lock. The server keeps the place in the queue, first come first served. After
// a wait has timed out, the next one starts at the end of the queue.
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

// watchOver calls lose when the server says that the lock is lost, or does not answer. It asks by RENEW with
// the token, which never extends a lock of another holder.
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
