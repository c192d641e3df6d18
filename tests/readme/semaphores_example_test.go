package readme

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
	"lockserver/server"
)

// The code between "snippet" and "end" is in docs/SEMAPHORES.md, word for word.

// snippet
// render runs work with as many licences as it needs, of ten over all machines. The context of work ends when
// the licences are lost.
func render(ctx context.Context, c *client.Client, licences int, work func(context.Context) error) (err error) {
	p, err := c.Semaphore("licences", 10).Acquire(ctx, client.Permits(licences), client.Wait(time.Minute))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Release(context.WithoutCancel(ctx))) }() // after a panic, too
	return work(p.Context())
}

// end

// snippet
// importAll imports files, at most four at a time over all machines, and waits until each is done. An import
// that takes longer than ten minutes loses its permit, and its context ends.
func importAll(ctx context.Context, c *client.Client, files []string, one func(ctx context.Context, file string) error) error {
	failed := make(chan error, len(files))
	for _, file := range files {
		go func() {
			p, err := c.Semaphore("imports", 4).Acquire(ctx, client.Lease(10*time.Minute))
			if err == nil {
				err = one(p.Context(), file)
				err = errors.Join(err, p.Release(context.WithoutCancel(ctx)))
			}
			failed <- err
		}()
	}
	var all error
	for range files {
		all = errors.Join(all, <-failed)
	}
	return all
}

// end

// snippet
// restart restarts this machine when fewer than two others are down. If it does not come back, its permit
// stays taken for 15 minutes, so the restart of the fleet goes on more slowly.
func restart(ctx context.Context, c *client.Client, stop, start func(context.Context) error) error {
	p, err := c.Semaphore("restart", 2).Acquire(ctx, client.Lease(15*time.Minute))
	if err != nil {
		return err
	}
	if err := errors.Join(stop(p.Context()), start(p.Context())); err != nil {
		return err // the permit stays taken: a machine is down
	}
	return p.Release(ctx)
}

// end

// snippet
// batch waits until all workers have counted down.
func batch(ctx context.Context, c *client.Client, id string, workers int) error {
	latch := c.Latch("batch:" + id)
	if _, err := latch.Set(ctx, workers); err != nil {
		return err
	}
	for range workers { // on other machines
		go func() {
			if _, err := latch.Down(ctx); err != nil {
				log.Print(err) // it was counted or not
			}
		}()
	}
	return latch.Wait(ctx)
}

// end

func Example_semaphores() {
	srv, err := server.New(server.Options{Directives: map[string]string{"bind": ""}})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	if err := srv.Start(); err != nil {
		log.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }})
	defer rdb.Close()
	c, err := client.New(rdb)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	fmt.Println(render(ctx, c, 3, func(context.Context) error { return nil }))
	var running, most atomic.Int32
	fmt.Println(importAll(ctx, c, make([]string, 20), func(context.Context, string) error {
		now := running.Add(1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		running.Add(-1)
		return nil
	}), most.Load() <= 4)
	nothing := func(context.Context) error { return nil }
	fmt.Println(restart(ctx, c, nothing, nothing))
	fmt.Println(batch(ctx, c, "7", 3))
	// Output:
	// <nil>
	// <nil> true
	// <nil>
	// <nil>
}
