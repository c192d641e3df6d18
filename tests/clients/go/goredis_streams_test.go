package clients

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestGoRedisStreams: orders are read by a group, a worker dies, another one takes over
// what it had not acknowledged.
func TestGoRedisStreams(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		require.NoError(t, c.XGroupCreateMkStream(ctx, "orders", "g", "0").Err())
		require.ErrorContains(t, c.XGroupCreate(ctx, "orders", "g", "0").Err(), "BUSYGROUP")
		const n = 100
		for i := range n {
			require.NoError(t, c.XAdd(ctx, &redis.XAddArgs{Stream: "orders", Values: []any{"user", i, "voucher", "10"}}).Err())
		}
		read := func(consumer, from string, count int64) []redis.XMessage {
			got, err := c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: consumer,
				Streams: []string{"orders", from}, Count: count, Block: -1}).Result()
			if err == redis.Nil {
				return nil
			}
			require.NoError(t, err)
			require.Len(t, got, 1)
			require.Equal(t, "orders", got[0].Stream)
			return got[0].Messages
		}
		seen := map[string]int{}
		done := func(m redis.XMessage) {
			seen[m.Values["user"].(string)]++
			require.EqualValues(t, 1, c.XAck(ctx, "orders", "g", m.ID).Val())
		}
		crashed := read("alice", ">", 40)
		require.Len(t, crashed, 40)
		for _, m := range crashed[:15] {
			done(m)
		}
		for _, m := range read("bob", ">", 1000) {
			done(m)
		}
		pending := c.XPending(ctx, "orders", "g").Val()
		require.EqualValues(t, 25, pending.Count)
		require.Equal(t, map[string]int64{"alice": 25}, pending.Consumers)
		ext := c.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: "orders", Group: "g", Start: "-", End: "+", Count: 1}).Val()
		require.Equal(t, "alice", ext[0].Consumer)
		require.EqualValues(t, 1, ext[0].RetryCount)

		require.Len(t, read("alice", "0", 5), 5, "her own pending entries")
		next := "0-0"
		for {
			claimed, start, err := c.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: "orders", Group: "g", Consumer: "bob",
				Start: next, Count: 10}).Result()
			require.NoError(t, err)
			for _, m := range claimed {
				done(m)
			}
			if next = start; next == "0-0" {
				break
			}
		}
		require.Len(t, seen, n)
		for user, times := range seen {
			require.Equal(t, 1, times, user)
		}
		full := c.XInfoStreamFull(ctx, "orders", 3).Val()
		require.EqualValues(t, n, full.Length)
		require.Equal(t, "g", full.Groups[0].Name)
		groups := c.XInfoGroups(ctx, "orders").Val()
		require.EqualValues(t, 0, groups[0].Lag)
		require.EqualValues(t, n, groups[0].EntriesRead)
		require.Len(t, c.XInfoConsumers(ctx, "orders", "g").Val(), 2)
		require.EqualValues(t, n-10, c.XTrimMaxLen(ctx, "orders", 10).Val())
		require.Len(t, c.XRevRangeN(ctx, "orders", "+", "-", 20).Val(), 10)
	})
}

// TestGoRedisStreamBlocks: a reader that waits gets what is added meanwhile, also through a group.
func TestGoRedisStreamBlocks(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		require.NoError(t, c.XGroupCreateMkStream(ctx, "s", "g", "$").Err())
		require.Equal(t, redis.Nil, c.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "$"}, Block: 10 * time.Millisecond}).Err())
		replies := make(chan []redis.XStream, 2)
		go func() {
			replies <- c.XRead(ctx, &redis.XReadArgs{Streams: []string{"other", "s", "0", "$"}, Block: patience}).Val()
		}()
		go func() {
			replies <- c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "a", Streams: []string{"s", ">"}, Block: patience}).Val()
		}()
		eventually(t, func() bool { return c.InfoMap(ctx, "clients").Item("Clients", "blocked_clients") == strconv.Itoa(2) }, "both wait")
		id := c.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []any{"k", "v"}}).Val()
		for range 2 {
			got := <-replies
			require.Len(t, got, 1)
			require.Equal(t, "s", got[0].Stream)
			require.Equal(t, id, got[0].Messages[0].ID)
			require.Equal(t, map[string]any{"k": "v"}, got[0].Messages[0].Values)
		}
	})
}
