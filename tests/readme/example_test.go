package readme

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// The code between "snippet" and "end" stands in the README, word for word; TestGoSnippets compares them.

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
	client := redis.NewClient(&redis.Options{
		Addr:       addr,
		MaxRetries: -1, // a LOCK that is sent twice is held twice
	})
	defer client.Close()

	token, err := client.Do(ctx, "LOCK", "door", "alice").Int64()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("alice holds the door:", token > 0)

	_, err = client.Do(ctx, "LOCK", "door", "bob").Int64()
	fmt.Println("bob does not:", errors.Is(err, redis.Nil))

	var bob sync.WaitGroup
	bob.Go(func() {
		patient := client.WithTimeout(time.Minute) // longer than the WAIT
		next, err := patient.Do(ctx, "LOCK", "door", "bob", "PX", 10_000, "WAIT", 30_000).Int64()
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

func Example_inProcess() {
	// snippet
	srv, err := server.New(server.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	client := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() },
	})
	defer client.Close()

	ctx := context.Background()
	client.Set(ctx, "seckill:stock:10", 1, 0)
	first, err := client.Do(ctx, "SECKILL", 10, "alice", "order-1").Int()
	fmt.Println(first, err)
	second, err := client.Do(ctx, "SECKILL", 10, "bob", "order-2").Int()
	fmt.Println(second, err)
	// end

	// Output:
	// 0 <nil>
	// 1 <nil>
}

// snippet
func TestTheNextWorkerTakesOver(t *testing.T) {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	srv, err := server.New(server.Options{Clock: clock, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer srv.Close()
	client := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() },
	})
	defer client.Close()

	lock := func(owner string) (int64, error) {
		return client.Do(t.Context(), "LOCK", "job", owner, "PX", 10_000).Int64()
	}
	first, err := lock("worker-1")
	require.NoError(t, err)

	clock.Advance(9_999 * time.Millisecond)
	_, err = lock("worker-2")
	require.ErrorIs(t, err, redis.Nil)

	clock.Advance(time.Millisecond)
	second, err := lock("worker-2")
	require.NoError(t, err)
	require.Greater(t, second, first)
}

// end
