package readme

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// The code between "snippet" and "end" is in docs/EMBEDDING.md, word for word; TestGoSnippets compares them.

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

// The server of the second snippet starts, in a directory of this test's.
func TestEmbeddingKeepsData(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("jobs", 0o755))
	// snippet
	srv, err := server.New(server.Options{
		Dir:         "jobs",
		AppendOnly:  true,
		AppendFsync: "always",
		RequirePass: "secret",
		MaxMemory:   1 << 30,
		Directives:  map[string]string{"maxmemory-policy": "allkeys-lru"},
	})
	// end
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	require.Equal(t, "allkeys-lru", srv.Directives()["maxmemory-policy"])
	require.NoError(t, srv.Close())
}
