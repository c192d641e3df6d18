package readme

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
	"lockserver/server"
)

// The code between "snippet" and "end" is in docs/LOCKS.md, word for word; TestGoSnippets compares them.

// snippet
var errLost = errors.New("the lock was lost")

// waiters waits for locks on behalf of many callers. One subscription hears of all outcomes, so no caller
// occupies a connection while it waits.
type waiters struct {
	client *redis.Client
	prefix string // begins the name of each owner
	mu     sync.Mutex
	heard  map[string]chan string // by the channel of the owner
}

func newWaiters(ctx context.Context, client *redis.Client) (*waiters, error) {
	w := &waiters{client: client, prefix: rand.Text() + ":", heard: map[string]chan string{}}
	outcomes := client.PSubscribe(ctx, "__lock__:"+w.prefix+"*")
	if _, err := outcomes.Receive(ctx); err != nil {
		return nil, err
	}
	go func() {
		for m := range outcomes.Channel() {
			w.mu.Lock()
			if c := w.heard[m.Channel]; c != nil {
				select {
				case c <- m.Payload:
				default: // there is one already
				}
			}
			w.mu.Unlock()
		}
	}()
	return w, nil
}

// lock acquires a lock for a new owner, for which it waits.
func (w *waiters) lock(ctx context.Context, key string, lease, wait time.Duration) (owner string, token int64, err error) {
	owner = w.prefix + rand.Text()
	channel, heard := "__lock__:"+owner, make(chan string, 1)
	w.mu.Lock()
	w.heard[channel] = heard
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.heard, channel)
		w.mu.Unlock()
		if err != nil { // it waits no more, and what was granted meanwhile is given back
			end := context.WithoutCancel(ctx)
			w.client.Do(end, "LOCK.CANCEL", key, owner)
			w.client.Do(end, "UNLOCK", key, owner)
		}
	}()
	for until := time.Now().Add(wait); time.Now().Before(until); {
		left := time.Until(until).Milliseconds() + 1
		reply, err := w.client.Do(ctx, "LOCK", key, owner, "PX", lease.Milliseconds(), "WAIT", left, "NOTIFY", "ONCE").Result()
		if err != nil {
			return owner, 0, err
		}
		if token, ok := reply.(int64); ok { // acquired; after a wait this has confirmed the grant
			return owner, token, nil
		}
		select { // QUEUED
		case <-heard: // granted, or refused: asking again tells which
		case <-time.After(3 * time.Second): // a message may be lost; who asks again keeps the place
		case <-ctx.Done():
			return owner, 0, ctx.Err()
		}
	}
	return owner, 0, redis.Nil
}

// withLock runs work while it holds the lock, for which it waits up to 10 seconds. The context that
// work gets ends before the lease does.
func withLock(ctx context.Context, w *waiters, key string, work func(ctx context.Context, token int64) error) error {
	const lease, wait, margin = 30 * time.Second, 10 * time.Second, 5 * time.Second
	owner, token, err := w.lock(ctx, key, lease, wait)
	if err != nil {
		return err // redis.Nil: another owner holds it still
	}
	// If this fails, the lease ends by itself.
	defer w.client.Do(context.WithoutCancel(ctx), "UNLOCK", key, owner, "TOKEN", token)

	began := time.Now() // not when the reply came: it may have been on its way for long
	held, err := w.client.Do(ctx, "RENEW", key, owner, "PX", lease.Milliseconds(), "TOKEN", token).Int()
	if err != nil {
		return err
	}
	if held == 0 {
		return errLost
	}
	ctx, cancel := context.WithDeadlineCause(ctx, began.Add(lease-margin), errLost)
	defer cancel()
	return work(ctx, token)
}

// end

// snippet
// whileHeld runs work for as long as it takes. The context that work gets ends, with the reason, when the
// lock is lost.
func whileHeld(ctx context.Context, c *client.Client, key string, work func(ctx context.Context, token int64) error) (err error) {
	lock, err := c.Lock(ctx, key, client.Wait(50*time.Second))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock(context.WithoutCancel(ctx))) }() // after a panic, too
	return work(lock.Context(), lock.Token())
}

// end

// snippet
// atTick runs a job on one of many machines that all call it at every full minute. It does not unlock: the
// key remembers that this minute's run has begun, for an hour.
func atTick(ctx context.Context, client *redis.Client, job string, now time.Time, run func(context.Context) error) (bool, error) {
	key := fmt.Sprintf("cron:%s:%d", job, now.Truncate(time.Minute).Unix())
	_, err := client.Do(ctx, "LOCK", key, rand.Text(), "EX", 3600, "ONCE").Int64()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, run(ctx)
}

// end

// inProcess returns a client of a server in this process, with this clock.
func inProcess(clock server.Clock) (*redis.Client, func()) {
	srv, err := server.New(server.Options{Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{
		PoolSize: 10, Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }})
	return client, func() {
		_ = client.Close()
		_ = srv.Close()
	}
}

func Example_withLock() {
	client, end := inProcess(nil)
	defer end()
	options := *client.Options()
	options.PoolSize = 2
	few := redis.NewClient(&options)
	defer few.Close()
	ctx := context.Background()
	w, err := newWaiters(ctx, few)
	if err != nil {
		log.Fatal(err)
	}
	inside, most := 0, 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 30 { // there are fewer connections
		all.Go(func() {
			err := withLock(ctx, w, "door", func(ctx context.Context, token int64) error {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				inside--
				mu.Unlock()
				return ctx.Err()
			})
			if err != nil {
				log.Fatal(err)
			}
		})
	}
	all.Wait()
	fmt.Println("at a time:", most, "left behind:", client.Exists(ctx, "door").Val())
	// Output: at a time: 1 left behind: 0
}

func Example_whileHeld() {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	rdb, end := inProcess(clock)
	defer end()
	c, err := client.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	err = whileHeld(ctx, c, "leader", func(ctx context.Context, token int64) error {
		clock.Advance(time.Hour)
		fmt.Println("held after an hour:", rdb.Exists(ctx, "leader").Val() == 1)
		return nil
	})
	fmt.Println(err, rdb.Exists(ctx, "leader").Val())
	err = whileHeld(ctx, c, "leader", func(ctx context.Context, token int64) error {
		rdb.Del(context.Background(), "leader")
		<-ctx.Done()
		return context.Cause(ctx)
	})
	fmt.Println("lost:", errors.Is(err, client.ErrLost))
	// Output:
	// held after an hour: true
	// <nil> 0
	// lost: true
}

func Example_atTick() {
	client, end := inProcess(nil)
	defer end()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, late := range []time.Duration{0, 200 * time.Millisecond, 59 * time.Second, time.Minute} {
		ran, err := atTick(context.Background(), client, "report", noon.Add(late), func(context.Context) error { return nil })
		fmt.Println(late, ran, err)
	}
	// Output:
	// 0s true <nil>
	// 200ms false <nil>
	// 59s false <nil>
	// 1m0s true <nil>
}
