package embedded

import (
	"context"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"lockserver/server"
)

// A server inside the process, for a test or a small program: no port, no files.
func Example() {
	srv, err := server.New(server.Options{})
	if err != nil {
		panic(err)
	}
	if err := srv.Start(); err != nil {
		panic(err)
	}
	defer func() { _ = srv.Close() }()

	rdb := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() },
	})
	defer func() { _ = rdb.Close() }()

	ctx := context.Background()
	token, err := rdb.Do(ctx, "LOCK", "orders", "worker-1", "PX", 5000).Int64()
	fmt.Println(token > 0, err)
	_, err = rdb.Do(ctx, "LOCK", "orders", "worker-2").Int64()
	fmt.Println(err == redis.Nil)
	released, err := rdb.Do(ctx, "UNLOCK", "orders", "worker-1", "TOKEN", token).Int64()
	fmt.Println(released, err)
	// Output:
	// true <nil>
	// true
	// 1 <nil>
}
