package clients

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// unlock is the usual compare-and-delete.
const unlock = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`

// sale is the classic script of a flash sale: stock, one piece a user, the order into a stream.
const sale = `
local stockKey = 'seckill:stock:' .. ARGV[1]
local orderKey = 'seckill:order:' .. ARGV[1]
if tonumber(redis.call('get', stockKey)) <= 0 then return 1 end
if redis.call('sismember', orderKey, ARGV[2]) == 1 then return 2 end
redis.call('incrby', stockKey, -1)
redis.call('sadd', orderKey, ARGV[2])
redis.call('xadd', 'stream.orders', '*', 'userId', ARGV[2], 'voucherId', ARGV[1], 'id', ARGV[3])
return 0`

func TestGoRedisScripts(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		require.NoError(t, c.ScriptFlush(ctx).Err())
		release := redis.NewScript(unlock)
		require.True(t, c.SetNX(ctx, "lock", "me", patience).Val())
		require.ErrorContains(t, release.EvalSha(ctx, c, []string{"lock"}, "me").Err(), "NOSCRIPT")
		require.EqualValues(t, 0, release.Run(ctx, c, []string{"lock"}, "other").Val())
		require.Equal(t, []bool{true}, release.Exists(ctx, c).Val())
		require.EqualValues(t, 1, release.EvalSha(ctx, c, []string{"lock"}, "me").Val())
		require.Equal(t, release.Hash(), c.ScriptLoad(ctx, unlock).Val())

		echo := `return {1, 'two', {3, {'four'}}, false, 5.9, nil, 6}`
		require.Equal(t, []any{int64(1), "two", []any{int64(3), []any{"four"}}, nil, int64(5)}, c.Eval(ctx, echo, nil).Val())
		require.Equal(t, "fine", c.Eval(ctx, `return redis.status_reply('fine')`, nil).Val())
		require.ErrorContains(t, c.Eval(ctx, `return redis.error_reply('MY own error')`, nil).Err(), "MY own error")
		require.ErrorContains(t, c.Eval(ctx, `return redis.call('lpush', KEYS[1])`, []string{"x"}).Err(), "Wrong number of args")
		require.ErrorContains(t, c.Eval(ctx, `redis.call('set', KEYS[1], 'x') return redis.call('incr', KEYS[1])`, []string{"x"}).Err(),
			"not an integer")
		require.Equal(t, "x", c.Get(ctx, "x").Val(), "what a script did before it failed stays")
		require.Equal(t, redis.Nil, c.Eval(ctx, `return redis.call('get', 'absent')`, nil).Err())
		require.Equal(t, "x", c.EvalRO(ctx, `return redis.call('get', KEYS[1])`, []string{"x"}).Val())
		require.Error(t, c.EvalRO(ctx, `return redis.call('set', KEYS[1], '1')`, []string{"x"}).Err())

		cmds, err := c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := range 100 {
				pipe.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[1])`, []string{"sum"}, i)
			}
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 4950, cmds[99].(*redis.Cmd).Val())
	})
}

// TestGoRedisSale: 300 users and 20 of them twice for 100 pieces.
func TestGoRedisSale(t *testing.T) {
	s := start(t)
	ctx := within(t)
	c := s.connect(t, func(o *redis.Options) { o.PoolSize, o.PoolTimeout = 20, patience })
	require.NoError(t, c.Set(ctx, "seckill:stock:10", 100, 0).Err())
	script := redis.NewScript(sale)
	var wg sync.WaitGroup
	results := make(chan string, 320)
	for i := range 320 {
		wg.Go(func() {
			got, err := script.Run(ctx, c, nil, 10, fmt.Sprintf("user-%d", i%300), i).Result()
			results <- fmt.Sprint(got, err)
		})
	}
	wg.Wait()
	close(results)
	count := map[string]int{}
	for r := range results {
		count[r]++
	}
	require.Equal(t, 100, count["0 <nil>"], "%v", count)
	require.Equal(t, 320, count["0 <nil>"]+count["1 <nil>"]+count["2 <nil>"], "%v", count)
	require.Equal(t, "0", c.Get(ctx, "seckill:stock:10").Val())
	require.EqualValues(t, 100, c.SCard(ctx, "seckill:order:10").Val())
	require.EqualValues(t, 100, c.XLen(ctx, "stream.orders").Val())
}

func TestGoRedisFunctions(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.connect(t, protocol(p))
		require.NoError(t, c.FlushAll(ctx).Err())
		require.NoError(t, c.FunctionFlush(ctx).Err())
		library := `#!lua name=shop
local function take(keys, args) return redis.call('decrby', keys[1], args[1]) end
redis.register_function('take', take)
redis.register_function{function_name='look', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'}}`
		require.Equal(t, "shop", c.FunctionLoad(ctx, library).Val())
		require.Error(t, c.FunctionLoad(ctx, library).Err(), "it exists")
		require.Equal(t, "shop", c.FunctionLoadReplace(ctx, library).Val())
		require.NoError(t, c.Set(ctx, "stock", 10, 0).Err())
		require.EqualValues(t, 7, c.FCall(ctx, "take", []string{"stock"}, 3).Val())
		require.Equal(t, "7", c.FCallRO(ctx, "look", []string{"stock"}).Val())
		require.Error(t, c.FCallRO(ctx, "take", []string{"stock"}, 3).Err())
		list, err := c.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: "sh*", WithCode: true}).Result()
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, library, list[0].Code)
		require.Len(t, list[0].Functions, 2)
		dump, err := c.FunctionDump(ctx).Result()
		require.NoError(t, err)
		require.NoError(t, c.FunctionDelete(ctx, "shop").Err())
		require.Error(t, c.FCall(ctx, "take", []string{"stock"}, 3).Err())
		require.NoError(t, c.FunctionRestore(ctx, dump).Err())
		require.Equal(t, strconv.Itoa(4), fmt.Sprint(c.FCall(ctx, "take", []string{"stock"}, 3).Val()))
	})
}
