package readme

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/server"
)

// The code between "snippet" and "end" is in docs/CLIENTS.md, word for word; TestGoSnippets compares them.

func Example_overTCP() {
	srv, err := server.New(server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	addr := srv.Addr().String()

	// snippet
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()

	// ONCE, because the library sends again what was not answered. A lease of her own,
	// because a pool may close the connection by which the server would renew it (docs/LOCKS.md).
	token, err := client.Do(ctx, "LOCK", "door", "alice", "PX", 30_000, "ONCE").Int64()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("alice holds the door:", token > 0)

	_, err = client.Do(ctx, "LOCK", "door", "bob", "PX", 10_000, "ONCE").Int64()
	fmt.Println("bob does not:", errors.Is(err, redis.Nil))

	var bob sync.WaitGroup
	bob.Go(func() {
		slow := client.WithTimeout(time.Minute) // longer than the WAIT
		next, err := slow.Do(ctx, "LOCK", "door", "bob", "PX", 10_000, "WAIT", 30_000, "ONCE").Int64()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("bob's token is the higher one:", next > token)
	})
	released, err := client.Do(ctx, "UNLOCK", "door", "alice", "TOKEN", token).Int64()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("released:", released == 1)
	bob.Wait()
	// end

	// Unordered output:
	// alice holds the door: true
	// bob does not: true
	// released: true
	// bob's token is the higher one: true
}
