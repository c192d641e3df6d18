package readme

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/server"
)

// The code between "snippet" and "end" stands in docs/LOCKS.md, word for word; TestGoSnippets compares them.

func Example_guard() {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	client, _, end := inProcess(clock)
	defer end()
	ctx := context.Background()
	token, err := client.Do(ctx, "LOCK", "stock:lock", "slow", "PX", 10_000).Int64()
	if err != nil {
		log.Fatal(err)
	}
	clock.Advance(time.Minute)

	// snippet
	err = client.Do(ctx, "GUARD", "stock:lock", token, "SET", "stock", 41).Err()
	if err != nil && strings.HasPrefix(err.Error(), "STALETOKEN") {
		fmt.Println("the lock is not ours any more, and nothing was written")
	}
	// end
	fmt.Println(client.Exists(ctx, "stock").Val())

	// Output:
	// the lock is not ours any more, and nothing was written
	// 0
}

// snippet
var errLost = errors.New("the lock was lost")

// withLock runs work while it holds the lock, for which it waits up to 10 seconds. The context that
// work gets ends before the lease does.
func withLock(ctx context.Context, client *redis.Client, key string, work func(ctx context.Context, token int64) error) error {
	const lease, wait, margin = 30 * time.Second, 10 * time.Second, 5 * time.Second
	owner := rand.Text() // this call's own name, which nobody else has or will have

	patient := client.WithTimeout(wait + margin) // a reply may take as long as the WAIT
	token, err := patient.Do(ctx, "LOCK", key, owner, "PX", lease.Milliseconds(), "WAIT", wait.Milliseconds()).Int64()
	if err != nil {
		return err // redis.Nil: somebody else holds it still
	}
	// If this fails, the lease ends by itself.
	defer client.Do(context.WithoutCancel(ctx), "UNLOCK", key, owner, "TOKEN", token)

	began := time.Now() // not when the reply came: it may have been on its way for long
	held, err := client.Do(ctx, "RENEW", key, owner, "PX", lease.Milliseconds(), "TOKEN", token).Int()
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
// unlessRunning runs job if nobody else is at it, and says whether it did.
func unlessRunning(ctx context.Context, client *redis.Client, key string, job func(context.Context) error) (bool, error) {
	owner := rand.Text()
	token, err := client.Do(ctx, "LOCK", key, owner, "EX", 600).Int64()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer client.Do(context.WithoutCancel(ctx), "UNLOCK", key, owner, "TOKEN", token)
	return true, job(ctx)
}

// end

// snippet
// whileHeld runs work for as long as it takes. The server renews the lease while the connection
// lives, so the lock has a connection of its own, which no pool closes. The context that work
// gets ends when the lock is lost.
func whileHeld(ctx context.Context, options redis.Options, key string, work func(ctx context.Context, token int64) error) error {
	options.PoolSize, options.MaxRetries = 1, -1
	options.ReadTimeout = time.Minute // longer than the WAIT
	client := redis.NewClient(&options)
	defer client.Close() // ends the connection, whatever happens, and with it the renewal
	conn := client.Conn()
	defer conn.Close()

	owner := rand.Text()
	token, err := conn.Do(ctx, "LOCK", key, owner, "WAIT", 50_000).Int64()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
			// It hears of a dead connection, and of a lock that was forced, deleted or lost.
			if held, err := conn.Do(ctx, "RENEW", key, owner, "TOKEN", token).Int(); err != nil || held == 0 {
				stop(errLost)
				return
			}
		}
	})
	err = work(ctx, token)
	stop(nil)
	watch.Wait()
	released := conn.Do(context.WithoutCancel(ctx), "UNLOCK", key, owner, "TOKEN", token).Err()
	if errors.Is(released, redis.Nil) {
		released = errLost
	}
	return errors.Join(err, released)
}

// end

// snippet
// atTick runs a job on one of many machines that all call it at every full minute. Nobody unlocks: the key
// remembers that this minute's run has begun, for an hour.
func atTick(ctx context.Context, client *redis.Client, job string, now time.Time, run func(context.Context) error) (bool, error) {
	key := fmt.Sprintf("cron:%s:%d", job, now.Truncate(time.Minute).Unix())
	_, err := client.Do(ctx, "LOCK", key, rand.Text(), "EX", 3600).Int64()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, run(ctx)
}

// end

// snippet
// account is a resource outside the lock server. It remembers the highest token that has written to it.
type account struct {
	mu      sync.Mutex
	fence   int64
	balance int
}

var errStale = errors.New("a later holder of the lock has been here")

func (a *account) set(token int64, balance int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token < a.fence {
		return errStale
	}
	a.fence, a.balance = token, balance
	return nil
}

// end

// inProcess is a client of a server of its own, whose clock is clock.
func inProcess(clock server.Clock) (*redis.Client, redis.Options, func()) {
	srv, err := server.New(server.Options{Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		log.Fatal(err)
	}
	options := redis.Options{MaxRetries: -1,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }}
	own := options // NewClient changes what it is given
	client := redis.NewClient(&own)
	return client, options, func() {
		_ = client.Close()
		_ = srv.Close()
	}
}

func Example_withLock() {
	client, _, end := inProcess(nil)
	defer end()
	ctx := context.Background()
	inside, most := 0, 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			err := withLock(ctx, client, "door", func(ctx context.Context, token int64) error {
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

func Example_unlessRunning() {
	client, _, end := inProcess(nil)
	defer end()
	ctx := context.Background()
	ran, err := unlessRunning(ctx, client, "job", func(ctx context.Context) error {
		again, err := unlessRunning(ctx, client, "job", func(context.Context) error { return nil })
		fmt.Println("a second one:", again, err)
		return nil
	})
	fmt.Println("the first one:", ran, err)
	ran, err = unlessRunning(ctx, client, "job", func(context.Context) error { return nil })
	fmt.Println("afterwards:", ran, err)
	// Output:
	// a second one: false <nil>
	// the first one: true <nil>
	// afterwards: true <nil>
}

func Example_whileHeld() {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	client, options, end := inProcess(clock)
	defer end()
	ctx := context.Background()
	err := whileHeld(ctx, options, "leader", func(ctx context.Context, token int64) error {
		clock.Advance(time.Hour)
		fmt.Println("held after an hour:", client.Exists(ctx, "leader").Val() == 1)
		return nil
	})
	fmt.Println(err, client.Exists(ctx, "leader").Val())
	err = whileHeld(ctx, options, "leader", func(ctx context.Context, token int64) error {
		client.Del(ctx, "leader")
		<-ctx.Done()
		return context.Cause(ctx)
	})
	fmt.Println("lost:", errors.Is(err, errLost))
	// Output:
	// held after an hour: true
	// <nil> 0
	// lost: true
}

func Example_atTick() {
	client, _, end := inProcess(nil)
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

func Example_fencing() {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	client, _, end := inProcess(clock)
	defer end()
	ctx := context.Background()
	var a account
	slow, _ := client.Do(ctx, "LOCK", "account:7", "slow", "PX", 10_000).Int64()
	clock.Advance(time.Minute) // the slow one is paused
	quick, _ := client.Do(ctx, "LOCK", "account:7", "quick", "PX", 10_000).Int64()
	fmt.Println("quick:", a.set(quick, 90))
	fmt.Println("slow:", a.set(slow, 110))
	fmt.Println("balance:", a.balance)
	// Output:
	// quick: <nil>
	// slow: a later holder of the lock has been here
	// balance: 90
}
