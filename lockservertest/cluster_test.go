package lockservertest_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/lockservertest"
)

// A cluster client of another library finds the shards, sells and locks over all of them, and their time
// passes when the test says so.
func TestStartCluster(t *testing.T) {
	c := lockservertest.StartCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()[:1]})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	ctx := t.Context()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, client.Set(ctx, key, "v", time.Minute).Err())
		token, err := client.Do(ctx, "LOCK", "lock:"+key, "me", "PX", 30000).Int64()
		require.NoError(t, err)
		require.Positive(t, token)
		require.NoError(t, client.Do(ctx, "SECKILL.CREATE", "{"+key+"}", "STOCK", 1, "STREAM", "orders:{"+key+"}").Err())
		require.EqualValues(t, 0, client.Do(ctx, "SECKILL", "{"+key+"}", "ann", "1").Val())
	}
	var sizes []string
	for _, s := range c.Shards {
		sizes = append(sizes, s.Do("DBSIZE"))
	}
	require.NotContains(t, sizes, "0", "each shard has keys")
	c.Advance(31 * time.Second)
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, client.Do(ctx, "LOCK", "lock:"+key, "other", "PX", 30000).Err(), "the lease has ended")
		require.Equal(t, "v", client.Get(ctx, key).Val())
	}
}

// A shard that is killed is gone for its own slots: the others go on, and say that it has failed.
func TestKillShard(t *testing.T) {
	c := lockservertest.StartCluster(t, 3)
	c.Kill(1)
	_, err := net.Dial("tcp", c.Addrs()[1])
	require.Error(t, err)
	nodes := c.Shards[0].Do("CLUSTER", "NODES")
	require.Equal(t, 1, strings.Count(nodes, "master,fail "), nodes)
	require.Equal(t, "v", func() string { c.Shards[0].Do("SET", "{b}", "v"); return c.Shards[0].Do("GET", "{b}") }())
}
