package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// allDoors are names that are spread over the slots of all shards.
func allDoors() (names []string) {
	for i := range 60 {
		names = append(names, fmt.Sprint("door-", i))
	}
	return names
}

// shards starts a process with three shards, and returns go-redis' client of a cluster.
func shards(t *testing.T, p int) (*server, *redis.ClusterClient) {
	t.Helper()
	s := start(t, "--shards", "3")
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.addr}, Protocol: p, ReadTimeout: patience, MaxRetries: -1, PoolSize: 100})
	t.Cleanup(func() { _ = c.Close() })
	return s, c
}

// eachMaster runs a command at each shard, one after the other.
func eachMaster(ctx context.Context, t *testing.T, c *redis.ClusterClient, do func(at *redis.Client)) {
	t.Helper()
	var one sync.Mutex
	count := 0
	require.NoError(t, c.ForEachMaster(ctx, func(_ context.Context, at *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		count++
		do(at)
		return nil
	}))
	require.Equal(t, 3, count)
}

// TestShards: go-redis as the client of a cluster of three shards in one process.
func TestShards(t *testing.T) {
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		_, c := shards(t, p)
		t.Run("spread", func(t *testing.T) { shardsSpread(ctx, t, c) })
		t.Run("locks", func(t *testing.T) { shardsLocks(ctx, t, c) })
		t.Run("sales", func(t *testing.T) { shardsSales(ctx, t, c) })
		t.Run("messages", func(t *testing.T) { shardsMessages(ctx, t, c) })
	})
}

// shardsSpread writes to all shards, in single commands, pipelines and transactions, and to the shard of each
// script.
func shardsSpread(ctx context.Context, t *testing.T, c *redis.ClusterClient) {
	for _, key := range allDoors() {
		require.NoError(t, c.Set(ctx, "value:"+key, key, 0).Err())
	}
	cmds, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range allDoors() {
			pipe.Get(ctx, "value:"+key)
		}
		return nil
	})
	require.NoError(t, err)
	for i, key := range allDoors() {
		require.Equal(t, key, cmds[i].(*redis.StringCmd).Val())
	}
	_, err = c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Incr(ctx, "{tx}1")
		pipe.Incr(ctx, "{tx}2")
		return nil
	})
	require.NoError(t, err)
	require.ErrorContains(t, c.Do(ctx, "MGET", "a", "b").Err(), "CROSSSLOT")
	for _, key := range allDoors() {
		require.Equal(t, key, redis.NewScript("return redis.call('GET', KEYS[1])").Run(ctx, c, []string{"value:" + key}).Val())
	}
	size, err := c.DBSize(ctx).Result()
	require.NoError(t, err)
	require.EqualValues(t, len(allDoors())+2, size, "go-redis adds the shards up")
	eachMaster(ctx, t, c, func(at *redis.Client) { require.Positive(t, at.DBSize(ctx).Val()) })
}

// shardsLocks takes locks in all shards, lists them, waits for each, and hears of their loss.
func shardsLocks(ctx context.Context, t *testing.T, c *redis.ClusterClient) {
	tokens := map[string]int64{}
	for _, key := range allDoors() {
		token, err := c.Do(ctx, "LOCK", key, "ann", "PX", 600_000).Int64()
		require.NoError(t, err)
		tokens[key] = token
		require.Equal(t, redis.Nil, c.Do(ctx, "LOCK", key, "ben").Err())
	}
	var listed []string
	eachMaster(ctx, t, c, func(at *redis.Client) {
		all, err := at.Do(ctx, "LOCK.LIST").Slice()
		require.NoError(t, err)
		require.NotEmpty(t, all)
		for _, row := range all {
			switch row := row.(type) {
			case []any:
				listed = append(listed, row[1].(string))
			case map[any]any:
				listed = append(listed, row["key"].(string))
			}
		}
	})
	want := allDoors()
	slices.Sort(want)
	slices.Sort(listed)
	require.Equal(t, want, listed)

	got := make(chan error, len(allDoors()))
	for _, key := range allDoors() {
		go func() {
			token, err := c.Do(ctx, "LOCK", key, "ben", "PX", 600_000, "WAIT", patience.Milliseconds()).Int64()
			if err == nil && token <= tokens[key] {
				err = fmt.Errorf("%s: token %d after %d", key, token, tokens[key])
			}
			got <- err
		}()
	}
	eventually(t, func() bool {
		waiting := 0
		eachMaster(ctx, t, c, func(at *redis.Client) {
			all, err := at.Do(ctx, "LOCK.WAITERS", "COUNT", len(allDoors())).Slice() // without COUNT: ten
			require.NoError(t, err)
			waiting += len(all)
		})
		return waiting == len(allDoors())
	}, "all wait")
	for _, key := range allDoors() {
		require.EqualValues(t, 1, c.Do(ctx, "UNLOCK", key, "ann", "TOKEN", tokens[key]).Val())
	}
	for range allDoors() {
		require.NoError(t, <-got)
	}
	require.ErrorContains(t, c.Do(ctx, "MLOCK", 2, "a", "b", "ann", "PX", 1000).Err(), "CROSSSLOT")
	require.NoError(t, c.Do(ctx, "MLOCK", 2, "{m}a", "{m}b", "ann", "PX", 1000).Err())
	attachEach(ctx, t, c)
}

// attachEach attaches an owner at each shard. It keeps a lock of each shard without a lease, and one of them
// is lost when its key is deleted.
func attachEach(ctx context.Context, t *testing.T, c *redis.ClusterClient) {
	held := 0
	eachMaster(ctx, t, c, func(at *redis.Client) {
		conn := at.Conn()
		defer conn.Close()
		require.EqualValues(t, 0, conn.Do(ctx, "LOCK.ATTACH", "keeper").Val())
		for _, key := range allDoors() {
			token, err := conn.Do(ctx, "LOCK", "kept:"+key, "keeper").Int64()
			var reply redis.Error
			if errors.As(err, &reply) {
				require.Regexp(t, "^MOVED ", err.Error())
				continue
			}
			require.NoError(t, err)
			require.Positive(t, token)
			held++
		}
	})
	require.Equal(t, len(allDoors()), held)
}

// shardsSales sells over all shards: each sale has as many orders as pieces.
func shardsSales(ctx context.Context, t *testing.T, c *redis.ClusterClient) {
	const stock, buyers = 3, 5
	for _, name := range allDoors()[:12] {
		voucher := "{" + name + "}"
		require.NoError(t, c.Do(ctx, "SECKILL.CREATE", voucher, "STOCK", stock, "STREAM", "orders:"+voucher).Err())
		var buying sync.WaitGroup
		replies := make([]int64, buyers)
		for i := range buyers {
			buying.Go(func() {
				replies[i], _ = c.Do(ctx, "SECKILL", voucher, fmt.Sprint("user-", i), fmt.Sprint("order-", i)).Int64()
			})
		}
		buying.Wait()
		slices.Sort(replies)
		require.Equal(t, []int64{0, 0, 0, 1, 1}, replies)
		require.EqualValues(t, stock, c.XLen(ctx, "orders:"+voucher).Val())
		id, err := c.Do(ctx, "NEXTID", voucher).Int64()
		require.NoError(t, err)
		require.Positive(t, id)
	}
	require.ErrorContains(t, c.Do(ctx, "SECKILL", "door-1", "ann", "1").Err(), "put a hash tag into the name, as {door-1}")
}

// shardsMessages subscribes by one shard, and publishes by others; sharded channels go by slot.
func shardsMessages(ctx context.Context, t *testing.T, c *redis.ClusterClient) {
	news := c.Subscribe(ctx, "news")
	defer news.Close()
	_, err := news.Receive(ctx)
	require.NoError(t, err)
	eachMaster(ctx, t, c, func(at *redis.Client) { require.NoError(t, at.Publish(ctx, "news", "once").Err()) })
	for range 3 {
		message, err := news.ReceiveMessage(ctx)
		require.NoError(t, err)
		require.Equal(t, "once", message.Payload)
	}
	for _, name := range allDoors()[:6] {
		sharded := c.SSubscribe(ctx, name)
		_, err := sharded.Receive(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, c.SPublish(ctx, name, "here").Val())
		message, err := sharded.ReceiveMessage(ctx)
		require.NoError(t, err)
		require.Equal(t, "here", message.Payload)
		require.NoError(t, sharded.Close())
	}
}

// TestShardsRueidis: rueidis pipelines by itself, to the shard of each key.
func TestShardsRueidis(t *testing.T) {
	ctx := within(t)
	s, _ := shards(t, 3)
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.addr}, ConnWriteTimeout: patience})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var all sync.WaitGroup
	for _, key := range allDoors() {
		all.Go(func() {
			token, err := c.Do(ctx, c.B().Arbitrary("LOCK").Keys(key).Args("ann", "PX", "600000").Build()).AsInt64()
			if err != nil || token <= 0 {
				t.Errorf("LOCK %s: %d %v", key, token, err)
			}
			sold, err := c.Do(ctx, c.B().Arbitrary("SECKILL.CREATE").Keys("{"+key+"}").Args("STOCK", "1", "STREAM", "orders:{"+key+"}").Build()).ToString()
			if err != nil || sold != "OK" {
				t.Errorf("SECKILL.CREATE %s: %s %v", key, sold, err)
			}
			if n, err := c.Do(ctx, c.B().Arbitrary("SECKILL").Keys("{"+key+"}").Args("ann", "1").Build()).AsInt64(); err != nil || n != 0 {
				t.Errorf("SECKILL %s: %d %v", key, n, err)
			}
		})
	}
	all.Wait()
	require.Len(t, c.Nodes(), 3)
}

// TestShardIsMoved: a client of a single server gets the place of each key, and go-redis finds three ranges
// of slots.
func TestShardIsMoved(t *testing.T) {
	s, c := shards(t, 2)
	ctx := within(t)
	plain := s.connect(t)
	moved := 0
	for _, key := range allDoors() {
		if err := plain.Set(ctx, key, "v", 0).Err(); err != nil {
			require.Regexp(t, `^MOVED \d+ 127\.0\.0\.1:\d+$`, err.Error())
			moved++
		}
	}
	require.Greater(t, moved, 10)
	require.Less(t, moved, len(allDoors()))
	ranges, err := c.Do(ctx, "CLUSTER", "SLOTS").Slice()
	require.NoError(t, err)
	require.Len(t, ranges, 3)
}
