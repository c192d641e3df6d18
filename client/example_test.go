package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
)

// connect begins each example.
func connect(settings ...client.Setting) (*client.Client, *redis.Client, func()) {
	rdb := redis.NewClient(reach())
	c, err := client.New(rdb, settings...)
	if err != nil {
		log.Fatal(err)
	}
	return c, rdb, func() {
		c.Close()
		_ = rdb.Close()
	}
}

func Example() {
	rdb := redis.NewClient(reach()) // &redis.Options{Addr: "host:6379"}
	defer rdb.Close()
	c, err := client.New(rdb)
	if err != nil {
		log.Fatal(err) // client.ErrNotLockserver, if it is a plain Redis
	}
	defer c.Close()
	ctx := context.Background()

	lock, err := c.Lock(ctx, "order:42", client.Wait(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.TryLock(ctx, "order:42")
	fmt.Println("another call has it:", !errors.Is(err, client.ErrNotAcquired))

	// Work with lock.Context(): it ends the moment the lock is lost, or released.
	fmt.Println("held:", lock.Context().Err() == nil)
	fmt.Println("unlocked:", lock.Unlock(ctx) == nil)
	fmt.Println("why its context ended:", context.Cause(lock.Context()))
	// Output:
	// another call has it: false
	// held: true
	// unlocked: true
	// why its context ended: the lock was released
}

// The holder learns at once that the lock is lost, and why.
func ExampleLock_Context() {
	c, rdb, end := connect()
	defer end()
	ctx := context.Background()
	lock, err := c.Lock(ctx, "order:42")
	if err != nil {
		log.Fatal(err)
	}
	rdb.Do(ctx, "LOCK.FORCE", "order:42") // an operator does
	<-lock.Context().Done()
	var lost *client.LostError
	if errors.As(context.Cause(lock.Context()), &lost) {
		fmt.Println(lost.Key, lost.Reason)
	}
	// Output:
	// order:42 forced
}

// Figures of locks, for whatever collects them.
func ExampleObserve() {
	c, _, end := connect(client.Name("billing"), client.Observe(client.Hooks{
		Acquired: func(key string, waited time.Duration) { fmt.Println("acquired", key, waited < time.Second) },
		Refused: func(key string, waited time.Duration, err error) {
			fmt.Println("refused", key, errors.Is(err, client.ErrNotAcquired))
		},
		Released: func(key string, held time.Duration) { fmt.Println("released", key, held > 0) },
		Lost:     func(lost *client.LostError) { fmt.Println("lost", lost.Key, lost.Reason) },
	}))
	defer end()
	ctx := context.Background()
	lock, err := c.Lock(ctx, "invoice:7")
	if err != nil {
		log.Fatal(err)
	}
	_, _ = c.TryLock(ctx, "invoice:7")
	_ = lock.Unlock(ctx)
	// Output:
	// acquired invoice:7 true
	// refused invoice:7 true
	// released invoice:7 true
}

// Code that takes a sync.Locker.
func ExampleClient_Locker() {
	c, _, end := connect()
	defer end()
	var mu sync.Locker = c.Locker(context.Background(), "counter")
	mu.Lock()
	fmt.Println("one at a time, on all machines")
	mu.Unlock()
	// Output:
	// one at a time, on all machines
}

// A write under a guard is done by the lock's present holder, or not at all.
func ExampleLock_Guard() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	late, err := c.Lock(ctx, "report", client.Lease(200*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	time.Sleep(250 * time.Millisecond) // the program was paused
	next, err := c.Lock(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	_, err = late.Guard(ctx, "SET", "report:text", "old")
	fmt.Println("the late one:", errors.Is(err, client.ErrLost))
	reply, err := next.Guard(ctx, "SET", "report:text", "new")
	fmt.Println("the present one:", reply, err)
	// Output:
	// the late one: true
	// the present one: OK <nil>
}

// Both accounts, or none, and never a deadlock, whatever the order.
func ExampleClient_MLock() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	lock, err := c.MLock(ctx, []string{"account:1", "account:2"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.TryLock(ctx, "account:2")
	fmt.Println(errors.Is(err, client.ErrNotAcquired))
	fmt.Println(lock.Unlock(ctx))
	// Output:
	// true
	// <nil>
}

// Many read, one writes.
func ExampleClient_RLock() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	one, err := c.RLock(ctx, "config")
	if err != nil {
		log.Fatal(err)
	}
	two, err := c.RLock(ctx, "config")
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.TryLock(ctx, "config")
	fmt.Println("a writer beside readers:", !errors.Is(err, client.ErrNotAcquired))
	fmt.Println(one.Unlock(ctx), two.Unlock(ctx))
	// Output:
	// a writer beside readers: false
	// <nil> <nil>
}

// One of many programs does what only one must do.
func ExampleClient_Campaign() {
	c, _, end := connect()
	defer end()
	err := c.Campaign(context.Background(), "leader", func(ctx context.Context) error {
		fmt.Println("leading") // until ctx ends, then another candidate may lead
		return nil
	})
	fmt.Println(err)
	// Output:
	// leading
	// <nil>
}

// An order is known by its id: to ask again is safe.
func ExampleSale() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	sale := c.Sale("concert")
	made, err := sale.Create(ctx, client.Terms{Stock: 100, Hold: 10 * time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("made:", made)
	for range 2 {
		outcome, err := sale.Buy(ctx, "ann", "order-1")
		fmt.Println(outcome, err)
	}
	done, err := sale.Confirm(ctx, "ann", "order-1")
	fmt.Println("paid:", done, err)
	// Output:
	// made: true
	// sold <nil>
	// sold <nil>
	// paid: true <nil>
}

// At most two at a time, over all machines.
func ExampleClient_Semaphore() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	printers := c.Semaphore("printers", 2)
	both, err := printers.Acquire(ctx, client.Permits(2))
	if err != nil {
		log.Fatal(err)
	}
	_, err = printers.TryAcquire(ctx)
	fmt.Println("one more:", errors.Is(err, client.ErrNotAcquired))
	fmt.Println(both.Release(ctx))
	// Output:
	// one more: true
	// <nil>
}

// A coordinator waits for its workers.
func ExampleClient_Latch() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	latch := c.Latch("batch:7")
	done, err := latch.Set(ctx, 2)
	fmt.Println(done, err)
	for range 2 {
		left, err := latch.Down(ctx)
		fmt.Println(left, err)
	}
	fmt.Println(latch.Wait(ctx))
	// Output:
	// true <nil>
	// 1 <nil>
	// 0 <nil>
	// <nil>
}

// Two at once, and a thousand a second.
func ExampleClient_Limiter() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	api := c.Limiter("api:ann", client.Rate{Burst: 2, Count: 1000, Period: time.Second})
	a, err := api.Take(ctx)
	fmt.Println(a.Allowed, err)
	for range 5 { // as many as the rate allows
		if _, err := api.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// true <nil>
}

// A limit for a second and one for a day, in one step: a call that one of them refuses costs nothing.
func ExampleClient_TakeLimits() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	second := c.Limiter("second:ann", client.Rate{Burst: 5, Count: 5, Period: time.Hour})
	day := c.Limiter("day:ann", client.Rate{Burst: 1, Count: 1, Period: 24 * time.Hour})
	for range 2 {
		a, err := c.TakeLimits(ctx, []client.Limiter{second, day})
		fmt.Println(a.Allowed, a.RefusedBy, err)
	}
	a, err := day.Give(ctx) // the call was not made
	fmt.Println(a.Remaining, err)
	// Output:
	// true 0 <nil>
	// false 2 <nil>
	// 1 <nil>
}

// A report on each working day, and an urgent call that passes the others.
func ExampleDelay_AddRecurring() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	rule := client.Rule{Cron: "0 9 * * 1-5", Zone: "Europe/Berlin"}
	_, added, err := c.Delay("reports").AddRecurring(ctx, "daily", rule, "kind", "sales")
	fmt.Println(added, err)
	pending, _, err := c.Delay("reports").Get(ctx, "daily")
	fmt.Println(pending.Rule.Cron, err)
	lock, err := c.Lock(ctx, "report", client.Wait(5*time.Second), client.Priority(7))
	fmt.Println(lock != nil, err)
	// Output:
	// true <nil>
	// 0 9 * * 1-5 <nil>
	// true <nil>
}

// A reminder, unless the order is paid before.
func ExampleClient_Delay() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	reminders := c.Delay("reminders")
	for range 2 {
		_, added, err := reminders.Add(ctx, "order-7", client.After(10*time.Minute), "user", "ann", "order", "7")
		fmt.Println(added, err)
	}
	done, err := reminders.Cancel(ctx, "order-7")
	fmt.Println("cancelled:", done, err)
	// Output:
	// true <nil>
	// false <nil>
	// cancelled: true <nil>
}
