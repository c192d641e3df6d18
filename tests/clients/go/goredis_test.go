package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestGoRedisHandshake(t *testing.T) {
	s := start(t, "--requirepass", "secret")
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		require.ErrorContains(t, s.connect(t, protocol(p)).Ping(ctx).Err(), "NOAUTH")
		wrong := s.connect(t, protocol(p), func(o *redis.Options) { o.Password = "wrong" })
		require.ErrorContains(t, wrong.Ping(ctx).Err(), "WRONGPASS")
		c := s.connect(t, protocol(p), func(o *redis.Options) {
			o.Username, o.Password, o.DB, o.ClientName = "default", "secret", 3, "shop"
		})
		require.Equal(t, "PONG", c.Ping(ctx).Val())
		require.Equal(t, "shop", c.ClientGetName(ctx).Val())
		info, err := c.ClientInfo(ctx).Result()
		require.NoError(t, err)
		require.Equal(t, 3, info.DB)
		require.Equal(t, p, info.Resp)
		if !isRedis() { // of 7.2
			require.Contains(t, info.LibName, "go-redis")
		}
		hello, err := c.Do(ctx, "HELLO", p).Result()
		require.NoError(t, err)
		if p == 3 {
			require.Equal(t, "master", hello.(map[any]any)["role"])
		}
	})
}

// TestGoRedisTypes: replies of every shape reach the types that the library makes of them.
func TestGoRedisTypes(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		t.Run("strings", func(t *testing.T) { goRedisStrings(t, c) })
		t.Run("hashes", func(t *testing.T) { goRedisHashes(t, c) })
		t.Run("lists and sets", func(t *testing.T) { goRedisListsAndSets(t, c) })
		t.Run("sorted sets", func(t *testing.T) { goRedisSortedSets(t, c) })
		t.Run("others", func(t *testing.T) { goRedisOthers(t, c) })
		t.Run("the server", func(t *testing.T) { goRedisServer(t, c) })
	})
}

func goRedisStrings(t *testing.T, c *redis.Client) {
	ctx := within(t)
	require.NoError(t, c.Set(ctx, "s", "binary\x00\r\n", time.Hour).Err())
	require.Equal(t, "binary\x00\r\n", c.Get(ctx, "s").Val())
	require.Greater(t, c.TTL(ctx, "s").Val(), 50*time.Minute)
	require.Equal(t, redis.Nil, c.Get(ctx, "absent").Err())
	require.False(t, c.SetNX(ctx, "s", "x", 0).Val())
	require.True(t, c.SetXX(ctx, "s", "x", redis.KeepTTL).Val())
	old, err := c.SetArgs(ctx, "s", "y", redis.SetArgs{Get: true, KeepTTL: true}).Result()
	require.NoError(t, err)
	require.Equal(t, "x", old)
	require.Equal(t, "y", c.GetEx(ctx, "s", time.Hour).Val())
	require.Equal(t, "y", c.GetDel(ctx, "s").Val())
	require.EqualValues(t, 7, c.IncrBy(ctx, "n", 7).Val())
	require.InDelta(t, 7.5, c.IncrByFloat(ctx, "n", 0.5).Val(), 1e-9)
	require.ErrorContains(t, c.Incr(ctx, "n").Err(), "not an integer")
	require.NoError(t, c.MSet(ctx, "a", 1, "b", "two").Err())
	require.Equal(t, []any{"1", nil, "two"}, c.MGet(ctx, "a", "absent", "b").Val())
	require.EqualValues(t, 1, c.Append(ctx, "c", "x").Val())
	lcs, err := c.LCS(ctx, &redis.LCSQuery{Key1: "a", Key2: "a", Idx: true, WithMatchLen: true}).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, lcs.Len)
	require.EqualValues(t, 0, c.SetBit(ctx, "bits", 7, 1).Val())
	require.Equal(t, []int64{1, 0}, c.BitField(ctx, "bits", "GET", "u8", 0, "INCRBY", "i5", 100, 0).Val())
	require.EqualValues(t, 1, c.BitCount(ctx, "bits", nil).Val())
	require.EqualValues(t, 1, c.PFAdd(ctx, "hll", "x", "y").Val())
	require.EqualValues(t, 2, c.PFCount(ctx, "hll").Val())
}

func goRedisHashes(t *testing.T, c *redis.Client) {
	ctx := within(t)
	type user struct {
		Name string  `redis:"name"`
		Age  int     `redis:"age"`
		Rate float64 `redis:"rate"`
	}
	require.NoError(t, c.HSet(ctx, "h", user{"alice", 30, 0.25}).Err())
	var got user
	require.NoError(t, c.HGetAll(ctx, "h").Scan(&got))
	require.Equal(t, user{"alice", 30, 0.25}, got)
	require.NoError(t, c.HMGet(ctx, "h", "name", "age").Scan(&got))
	require.EqualValues(t, 31, c.HIncrBy(ctx, "h", "age", 1).Val())
	require.Equal(t, map[string]string{"name": "alice", "age": "31", "rate": "0.25"}, c.HGetAll(ctx, "h").Val())
	require.Len(t, c.HRandFieldWithValues(ctx, "h", 2).Val(), 2)
	require.False(t, c.HSetNX(ctx, "h", "name", "bob").Val())
	require.ElementsMatch(t, []string{"name", "age", "rate"}, c.HKeys(ctx, "h").Val())
	if !isRedis() { // of 7.4
		require.Equal(t, []int64{1, -2}, c.HExpire(ctx, "h", time.Minute, "age", "absent").Val())
		require.Equal(t, []int64{60, -1}, c.HTTL(ctx, "h", "age", "name").Val())
	}
}

func goRedisListsAndSets(t *testing.T, c *redis.Client) {
	ctx := within(t)
	require.EqualValues(t, 4, c.RPush(ctx, "l", "a", "b", "c", "b").Val())
	require.Equal(t, []int64{1, 3}, c.LPosCount(ctx, "l", "b", 0, redis.LPosArgs{}).Val())
	require.Equal(t, "a", c.LMove(ctx, "l", "l2", "LEFT", "RIGHT").Val())
	key, values, err := c.LMPop(ctx, "right", 2, "absent", "l").Result()
	require.NoError(t, err)
	require.Equal(t, "l", key)
	require.Equal(t, []string{"b", "c"}, values)
	require.Equal(t, []string{"a"}, c.LRange(ctx, "l2", 0, -1).Val())
	require.EqualValues(t, 3, c.SAdd(ctx, "set", "1", "2", "3").Val())
	require.Equal(t, []bool{true, false}, c.SMIsMember(ctx, "set", "1", "4").Val())
	require.NoError(t, c.SAdd(ctx, "set2", "2", "5").Err())
	require.Equal(t, []string{"2"}, c.SInter(ctx, "set", "set2").Val())
	require.EqualValues(t, 1, c.SInterCard(ctx, 10, "set", "set2").Val())
	require.Equal(t, map[string]struct{}{"1": {}, "2": {}, "3": {}}, c.SMembersMap(ctx, "set").Val())
	sorted, err := c.Sort(ctx, "set", &redis.Sort{Order: "DESC", Get: []string{"#"}}).Result()
	require.NoError(t, err)
	require.Equal(t, []string{"3", "2", "1"}, sorted)
}

func goRedisSortedSets(t *testing.T, c *redis.Client) {
	ctx := within(t)
	require.EqualValues(t, 3, c.ZAdd(ctx, "z", redis.Z{Score: 1, Member: "a"}, redis.Z{Score: 2.5, Member: "b"},
		redis.Z{Score: 1e300, Member: "c"}).Val())
	require.Equal(t, []redis.Z{{Score: 1, Member: "a"}, {Score: 2.5, Member: "b"}}, c.ZRangeWithScores(ctx, "z", 0, 1).Val())
	require.Equal(t, []string{"c", "b"}, c.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: "z", Start: "+inf", Stop: "(1", ByScore: true, Rev: true, Count: 2}).Val())
	require.InDelta(t, 3.5, c.ZIncrBy(ctx, "z", 1, "b").Val(), 1e-9)
	require.Equal(t, []float64{1, 3.5}, c.ZMScore(ctx, "z", "a", "b").Val())
	require.Equal(t, redis.Nil, c.ZScore(ctx, "z", "absent").Err())
	require.EqualValues(t, 1, c.ZRevRank(ctx, "z", "b").Val())
	if !isRedis() { // of 7.2
		rank, err := c.ZRankWithScore(ctx, "z", "b").Result()
		require.NoError(t, err)
		require.Equal(t, redis.RankScore{Rank: 1, Score: 3.5}, rank)
	}
	key, popped, err := c.ZMPop(ctx, "min", 1, "z").Result()
	require.NoError(t, err)
	require.Equal(t, "z", key)
	require.Equal(t, []redis.Z{{Score: 1, Member: "a"}}, popped)
	require.Equal(t, []redis.Z{{Score: 1e300, Member: "c"}}, c.ZPopMax(ctx, "z").Val())
	require.Len(t, c.ZRandMemberWithScores(ctx, "z", 5).Val(), 1)
	require.NoError(t, c.ZAdd(ctx, "z2", redis.Z{Score: 2, Member: "b"}).Err())
	union, err := c.ZUnionWithScores(ctx, redis.ZStore{Keys: []string{"z", "z2"}, Weights: []float64{2, 1}}).Result()
	require.NoError(t, err)
	require.Equal(t, []redis.Z{{Score: 9, Member: "b"}}, union)
}

func goRedisOthers(t *testing.T, c *redis.Client) {
	ctx := within(t)
	require.EqualValues(t, 2, c.GeoAdd(ctx, "geo", &redis.GeoLocation{Name: "P", Longitude: 13.361389, Latitude: 38.115556},
		&redis.GeoLocation{Name: "C", Longitude: 15.087269, Latitude: 37.502669}).Val())
	near, err := c.GeoSearchLocation(ctx, "geo", &redis.GeoSearchLocationQuery{
		GeoSearchQuery: redis.GeoSearchQuery{Longitude: 15, Latitude: 37, Radius: 200, RadiusUnit: "km", Sort: "ASC"},
		WithCoord:      true, WithDist: true, WithHash: true}).Result()
	require.NoError(t, err)
	require.Equal(t, []string{"C", "P"}, []string{near[0].Name, near[1].Name})
	require.InDelta(t, 56.4413, near[0].Dist, 1e-4)
	require.InDelta(t, 166.2742, c.GeoDist(ctx, "geo", "P", "C", "km").Val(), 1e-3)
	require.NoError(t, c.Set(ctx, "orig", "x", 0).Err())
	require.EqualValues(t, 1, c.Copy(ctx, "orig", "copy", 0, false).Val())
	dump := c.Dump(ctx, "copy").Val()
	require.NoError(t, c.RestoreReplace(ctx, "copy", time.Hour, dump).Err())
	require.Equal(t, "string", c.Type(ctx, "copy").Val())
	require.Equal(t, "embstr", c.ObjectEncoding(ctx, "copy").Val())
	require.True(t, c.Expire(ctx, "orig", time.Minute).Val())
	require.False(t, c.ExpireGT(ctx, "orig", time.Second).Val())
	require.True(t, c.Persist(ctx, "orig").Val())
	require.True(t, c.RenameNX(ctx, "orig", "renamed").Val())
	require.EqualValues(t, 1, c.Unlink(ctx, "renamed", "orig").Val())
}

func goRedisServer(t *testing.T, c *redis.Client) {
	ctx := within(t)
	commands, err := c.Command(ctx).Result()
	require.NoError(t, err)
	require.Equal(t, int8(-3), commands["set"].Arity)
	require.False(t, commands["set"].ReadOnly)
	names, err := c.CommandList(ctx, &redis.FilterBy{Pattern: "x*group"}).Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"xgroup", "xreadgroup"}, names)
	keys, err := c.CommandGetKeys(ctx, "MSET", "a", "1", "b", "2").Result()
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, keys)
	require.Equal(t, map[string]string{"maxmemory": "0"}, c.ConfigGet(ctx, "maxmemory").Val())
	require.NoError(t, c.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err())
	require.NoError(t, c.Set(ctx, "slow", "x", 0).Err())
	require.NoError(t, c.ConfigSet(ctx, "slowlog-log-slower-than", "10000").Err())
	slow, err := c.SlowLogGet(ctx, -1).Result()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(slow, func(l redis.SlowLog) bool { return slices.Equal(l.Args, []string{"set", "slow", "x"}) }))
	require.WithinDuration(t, time.Now(), c.Time(ctx).Val(), time.Minute)
	require.Positive(t, c.MemoryUsage(ctx, "slow").Val())
	sections := c.InfoMap(ctx, "server").Item("Server", "redis_version")
	require.NotEmpty(t, sections)
	require.Positive(t, c.DBSize(ctx).Val())
	require.NoError(t, c.ClientKillByFilter(ctx, "ID", "99999999").Err())
	require.ErrorContains(t, c.Do(ctx, "NOSUCH", "x").Err(), "unknown command 'NOSUCH'")
}

func TestGoRedisPipelines(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		cmds, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range 10_000 {
				pipe.Incr(ctx, "n")
				pipe.Set(ctx, "k"+strconv.Itoa(i%100), i, 0)
			}
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 10_000, cmds[len(cmds)-2].(*redis.IntCmd).Val())

		cmds, err = c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Get(ctx, "n")
			pipe.LPush(ctx, "n", "x")
			pipe.Get(ctx, "n")
			return nil
		})
		require.ErrorContains(t, err, "WRONGTYPE")
		require.Equal(t, "10000", cmds[2].(*redis.StringCmd).Val(), "the others are answered all the same")

		cmds, err = c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "n", 1, 0)
			pipe.LPush(ctx, "n", "x")
			pipe.Incr(ctx, "n")
			return nil
		})
		require.ErrorContains(t, err, "WRONGTYPE")
		require.EqualValues(t, 2, cmds[2].(*redis.IntCmd).Val())

		_, err = c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "n", 100, 0)
			pipe.Do(ctx, "NOSUCH")
			return nil
		})
		require.ErrorContains(t, err, "EXECABORT")
		require.Equal(t, "2", c.Get(ctx, "n").Val(), "nothing of an aborted transaction happens")
	})
}

// TestGoRedisWatch: a counter without INCR, by many at a time.
func TestGoRedisWatch(t *testing.T) {
	s := start(t)
	ctx := within(t)
	c := s.connect(t)
	const workers, each = 8, 50
	var wg sync.WaitGroup
	failures := make([]int, workers)
	for w := range workers {
		wg.Go(func() {
			for done := 0; done < each; {
				err := c.Watch(ctx, func(tx *redis.Tx) error {
					n, err := tx.Get(ctx, "counter").Int()
					if err != nil && !errors.Is(err, redis.Nil) {
						return err
					}
					_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
						pipe.Set(ctx, "counter", n+1, 0)
						return nil
					})
					return err
				}, "counter")
				switch {
				case err == nil:
					done++
				case errors.Is(err, redis.TxFailedErr):
					failures[w]++
				default:
					t.Errorf("watch: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, strconv.Itoa(workers*each), c.Get(ctx, "counter").Val())
	t.Logf("transactions that had to be repeated: %v", failures)
}

func TestGoRedisPubSub(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		sub := c.Subscribe(ctx, "news", "sport")
		defer sub.Close()
		require.NoError(t, sub.PSubscribe(ctx, "new?"))
		for range 3 {
			_, err := sub.Receive(ctx) // confirmations
			require.NoError(t, err)
		}
		shard := c.SSubscribe(ctx, "shard")
		defer shard.Close()
		_, err := shard.Receive(ctx)
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"news": 1, "nobody": 0}, c.PubSubNumSub(ctx, "news", "nobody").Val())
		require.EqualValues(t, 1, c.PubSubNumPat(ctx).Val())
		require.Equal(t, []string{"shard"}, c.PubSubShardChannels(ctx, "*").Val())
		const n = 500
		go func() {
			for i := range n {
				c.Publish(ctx, "news", i)
			}
			c.SPublish(ctx, "shard", "s")
		}()
		messages := sub.Channel(redis.WithChannelSize(3 * n))
		var direct, pattern []string
		for len(direct) < n || len(pattern) < n {
			select {
			case m := <-messages:
				if m.Pattern == "" {
					direct = append(direct, m.Payload)
				} else {
					pattern = append(pattern, m.Payload)
				}
			case <-ctx.Done():
				t.Fatalf("%d and %d messages", len(direct), len(pattern))
			}
		}
		require.Equal(t, direct, pattern)
		require.True(t, slices.IsSortedFunc(direct, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		}))
		m, err := shard.ReceiveMessage(ctx)
		require.NoError(t, err)
		require.Equal(t, "s", m.Payload)
		require.NoError(t, sub.Unsubscribe(ctx, "news", "sport"))
		require.NoError(t, sub.PUnsubscribe(ctx))
		eventually(t, func() bool { return c.Publish(ctx, "news", "x").Val() == 0 }, "unsubscribed")
	})
}

func TestGoRedisScan(t *testing.T) {
	s := start(t)
	ctx := within(t)
	c := s.connect(t)
	_, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range 5_000 {
			pipe.Set(ctx, fmt.Sprintf("key:%d", i), i, 0)
			pipe.HSet(ctx, "hash", fmt.Sprintf("field:%d", i), i)
			pipe.SAdd(ctx, "set", i)
			pipe.ZAdd(ctx, "zset", redis.Z{Score: float64(i), Member: i})
		}
		return nil
	})
	require.NoError(t, err)
	count := func(it *redis.ScanIterator) int {
		seen := map[string]bool{}
		for it.Next(ctx) {
			seen[it.Val()] = true
		}
		require.NoError(t, it.Err())
		return len(seen)
	}
	require.Equal(t, 5_000, count(c.Scan(ctx, 0, "key:*", 100).Iterator()))
	require.Equal(t, 1, count(c.ScanType(ctx, 0, "*", 1000, "zset").Iterator()))
	require.Equal(t, 5_000, count(c.SScan(ctx, "set", 0, "", 100).Iterator()))
	require.Equal(t, 1, count(c.HScan(ctx, "hash", 0, "field:4999", 1000).Iterator())-1, "the field and its value")
	require.GreaterOrEqual(t, count(c.ZScan(ctx, "zset", 0, "", 100).Iterator()), 5_000)
}

func TestGoRedisBlocking(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		require.Equal(t, redis.Nil, c.BLPop(ctx, time.Second, "q").Err()) // the library's shortest timeout
		require.Equal(t, redis.Nil, c.Do(ctx, "BLMOVE", "q", "r", "LEFT", "RIGHT", "0.01").Err())
		require.Equal(t, redis.Nil, c.Do(ctx, "BZPOPMIN", "z", "0.01").Err())

		type got struct {
			what any
			err  error
		}
		waiters := map[string]func() (any, error){
			"blpop":    func() (any, error) { return c.BLPop(ctx, patience, "other", "q").Result() },
			"blmove":   func() (any, error) { return c.BLMove(ctx, "q2", "r", "LEFT", "RIGHT", patience).Result() },
			"bzpopmin": func() (any, error) { return c.BZPopMin(ctx, patience, "z").Result() },
			"blmpop": func() (any, error) {
				_, v, err := c.BLMPop(ctx, patience, "left", 2, "q3").Result()
				return v, err
			},
		}
		replies := make(chan got, len(waiters))
		for _, wait := range waiters {
			go func() {
				v, err := wait()
				replies <- got{v, err}
			}()
		}
		eventually(t, func() bool {
			return c.InfoMap(ctx, "clients").Item("Clients", "blocked_clients") == strconv.Itoa(len(waiters))
		}, "all wait")
		_, err := c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.RPush(ctx, "q", "1", "2")
			pipe.RPush(ctx, "q2", "moved")
			pipe.RPush(ctx, "q3", "x", "y", "z")
			pipe.ZAdd(ctx, "z", redis.Z{Score: 1.5, Member: "m"})
			return nil
		})
		require.NoError(t, err)
		var all []any
		for range waiters {
			g := <-replies
			require.NoError(t, g.err)
			all = append(all, g.what)
		}
		require.ElementsMatch(t, []any{[]string{"q", "1"}, "moved", []string{"x", "y"},
			&redis.ZWithKey{Z: redis.Z{Score: 1.5, Member: "m"}, Key: "z"}}, all)
	})
}

// TestGoRedisPool: more goroutines than connections, and connections that are killed under them.
func TestGoRedisPool(t *testing.T) {
	s := start(t)
	ctx := within(t)
	c := s.connect(t, func(o *redis.Options) { o.PoolSize, o.MaxRetries, o.PoolTimeout = 4, 10, patience })
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for range 64 {
		wg.Go(func() {
			for range 20 {
				if err := c.Incr(ctx, "n").Err(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	require.NoError(t, <-errs)
	require.Equal(t, "1280", c.Get(ctx, "n").Val())
	require.LessOrEqual(t, c.PoolStats().TotalConns, uint32(4))

	other := s.connect(t, func(o *redis.Options) { o.ClientName = "killer" })
	require.Positive(t, other.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Val())
	require.Equal(t, "1280", c.Get(ctx, "n").Val(), "the library connects again")
	s.restart(t)
	require.Equal(t, "1280", c.Get(ctx, "n").Val(), "also after a restart of the server")
	prompt := s.connect(t, func(o *redis.Options) { o.ContextTimeoutEnabled = true })
	cancelled, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	require.Error(t, prompt.BLPop(cancelled, 0, "never").Err())
	eventually(t, func() bool { return c.InfoMap(ctx, "clients").Item("Clients", "blocked_clients") == "0" }, "the server notices")
}
