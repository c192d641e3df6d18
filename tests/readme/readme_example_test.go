package readme

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
	"lockserver/server"
)

// The code between "snippet" and "end" is in README.md, word for word; TestGoSnippets compares them.

// charge represents the reader's own work.
func charge(ctx context.Context, token int64) error {
	fmt.Println("charged under the lock:", ctx.Err() == nil && token > 0)
	return nil
}

func underTheLock(ctx context.Context, addr string) error {
	// snippet
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	locks, err := client.New(rdb)
	if err != nil {
		return err
	}
	lock, err := locks.Lock(ctx, "order:42", client.Wait(5*time.Second))
	if err != nil {
		return err
	}
	defer lock.Unlock(context.WithoutCancel(ctx))
	return charge(lock.Context(), lock.Token())
	// end
}

func Example_withTheClient() {
	srv, err := server.New(server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err = srv.Start(); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	if err = underTheLock(context.Background(), srv.Addr().String()); err != nil {
		log.Fatal(err)
	}
	// Output: charged under the lock: true
}
