package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
	"lockserver/server"
)

// connect is a client of a server in the process. A program has its address instead: redis.Options{Addr:
// "host:6379"}.
func connect() (*client.Client, *redis.Client, func()) {
	srv, err := server.New(server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err = srv.Start(); err != nil {
		log.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr().String()})
	c, err := client.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	return c, rdb, func() {
		c.Close()
		_ = rdb.Close()
		_ = srv.Close()
	}
}

func Example() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()

	lock, err := c.Lock(ctx, "order:42", client.Wait(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.TryLock(ctx, "order:42")
	fmt.Println("somebody else:", err)

	// Work with lock.Context(): it ends the moment the lock is lost, or released.
	fmt.Println("held:", lock.Context().Err() == nil)
	fmt.Println("unlocked:", lock.Unlock(ctx) == nil)
	fmt.Println("why its context ended:", context.Cause(lock.Context()))
	// Output:
	// somebody else: somebody else holds the lock
	// held: true
	// unlocked: true
	// why its context ended: the lock was released
}

// What is written under a guard is written by the lock's present holder, or not at all.
func ExampleLock_Guard() {
	c, _, end := connect()
	defer end()
	ctx := context.Background()
	late, err := c.Lock(ctx, "report", client.Lease(10*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // the program was paused
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
	fmt.Println("a writer beside readers:", err)
	fmt.Println(one.Unlock(ctx), two.Unlock(ctx))
	// Output:
	// a writer beside readers: somebody else holds the lock
	// <nil> <nil>
}

// One of many programs does what only one must do.
func ExampleClient_Campaign() {
	c, _, end := connect()
	defer end()
	err := c.Campaign(context.Background(), "leader", func(ctx context.Context) error {
		fmt.Println("leading") // until ctx ends, which is when somebody else may lead
		return nil
	})
	fmt.Println(err)
	// Output:
	// leading
	// <nil>
}

// An order is known by its id: to ask again is safe.
func ExampleSale() {
	c, rdb, end := connect()
	defer end()
	ctx := context.Background()
	err := rdb.Do(ctx, "SECKILL.CREATE", "concert", "STOCK", 100, "HOLD", 600_000).Err()
	if err != nil {
		log.Fatal(err)
	}
	sale := c.Sale("concert")
	for range 2 {
		outcome, err := sale.Buy(ctx, "ann", "order-1")
		fmt.Println(outcome, err)
	}
	done, err := sale.Confirm(ctx, "ann", "order-1")
	fmt.Println("paid:", done, err)
	// Output:
	// sold <nil>
	// sold <nil>
	// paid: true <nil>
}
