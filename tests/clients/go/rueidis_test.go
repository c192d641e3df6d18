package clients

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/stretchr/testify/require"
)

// rueidis is a client of that library, closed with the test.
func (s *server) rueidis(t *testing.T, change ...func(*rueidis.ClientOption)) rueidis.Client {
	t.Helper()
	o := rueidis.ClientOption{InitAddress: []string{s.addr}, ConnWriteTimeout: patience, ForceSingleClient: true}
	for _, f := range change {
		f(&o)
	}
	c, err := rueidis.NewClient(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestRueidisCommands(t *testing.T) {
	s := start(t, "--requirepass", "secret")
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.rueidis(t, func(o *rueidis.ClientOption) {
			o.AlwaysRESP2, o.DisableCache = p == 2, p == 2
			o.Password, o.ClientName, o.SelectDB = "secret", "shop", 2
		})
		require.NoError(t, c.Do(ctx, c.B().Flushall().Build()).Error())
		require.NoError(t, c.Do(ctx, c.B().Hset().Key("h").FieldValue().FieldValue("a", "1").FieldValue("b", "2").Build()).Error())
		m, err := c.Do(ctx, c.B().Hgetall().Key("h").Build()).AsStrMap()
		require.NoError(t, err)
		require.Equal(t, map[string]string{"a": "1", "b": "2"}, m)
		require.NoError(t, c.Do(ctx, c.B().Zadd().Key("z").ScoreMember().ScoreMember(1.5, "m").Build()).Error())
		scores, err := c.Do(ctx, c.B().Zrange().Key("z").Min("0").Max("-1").Withscores().Build()).AsZScores()
		require.NoError(t, err)
		require.Equal(t, []rueidis.ZScore{{Member: "m", Score: 1.5}}, scores)
		id, err := c.Do(ctx, c.B().Xadd().Key("s").Id("*").FieldValue().FieldValue("k", "v").Build()).ToString()
		require.NoError(t, err)
		entries, err := c.Do(ctx, c.B().Xread().Streams().Key("s").Id("0").Build()).AsXRead()
		require.NoError(t, err)
		require.Equal(t, map[string][]rueidis.XRangeEntry{"s": {{ID: id, FieldValues: map[string]string{"k": "v"}}}}, entries)
		name, err := c.Do(ctx, c.B().ClientGetname().Build()).ToString()
		require.NoError(t, err)
		require.Equal(t, "shop", name)
		require.True(t, rueidis.IsRedisNil(c.Do(ctx, c.B().Get().Key("absent").Build()).Error()))
		reply, is := rueidis.IsRedisErr(c.Do(ctx, c.B().Incr().Key("h").Build()).Error())
		require.True(t, is)
		require.Contains(t, reply.Error(), "WRONGTYPE")
	})
}

// TestRueidisPipelines: calls of many goroutines share one connection; DoMulti keeps their order.
func TestRueidisPipelines(t *testing.T) {
	s := start(t)
	ctx := within(t)
	c := s.rueidis(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 100 {
				if err := c.Do(ctx, c.B().Incr().Key("n").Build()).Error(); err != nil {
					t.Errorf("INCR: %v", err)
				}
			}
		})
	}
	wg.Wait()
	cmds := make(rueidis.Commands, 0, 500)
	for range 500 {
		cmds = append(cmds, c.B().Incr().Key("n").Build())
	}
	for i, r := range c.DoMulti(ctx, cmds...) {
		n, err := r.AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, 5_000+i+1, n)
	}
	stream := c.DoStream(ctx, c.B().Get().Key("n").Build())
	var b writer
	for stream.HasNext() {
		_, err := stream.WriteTo(&b)
		require.NoError(t, err)
	}
	require.Equal(t, "5500", string(b))
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

func TestRueidisDedicated(t *testing.T) {
	s := start(t)
	ctx := within(t)
	c := s.rueidis(t)
	add := func(interfere bool) error {
		return c.Dedicated(func(d rueidis.DedicatedClient) error {
			if err := d.Do(ctx, d.B().Watch().Key("n").Build()).Error(); err != nil {
				return err
			}
			n, err := d.Do(ctx, d.B().Get().Key("n").Build()).AsInt64()
			if err != nil && !rueidis.IsRedisNil(err) {
				return err
			}
			if interfere {
				if err := c.Do(ctx, c.B().Incr().Key("n").Build()).Error(); err != nil {
					return err
				}
			}
			replies := d.DoMulti(ctx, d.B().Multi().Build(), d.B().Set().Key("n").Value(strconv.FormatInt(n+1, 10)).Build(), d.B().Exec().Build())
			return replies[2].Error()
		})
	}
	require.NoError(t, add(false))
	require.True(t, rueidis.IsRedisNil(add(true)))
	n, err := c.Do(ctx, c.B().Get().Key("n").Build()).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	popped := make(chan []string, 1)
	go func() {
		got, _ := c.Do(ctx, c.B().Blpop().Key("q").Timeout(0).Build()).AsStrSlice()
		popped <- got
	}()
	require.NoError(t, c.Do(ctx, c.B().Rpush().Key("q").Element("x").Build()).Error())
	require.Equal(t, []string{"q", "x"}, <-popped)
}

// TestRueidisCache: a cached value is read from the server once, until it changes.
func TestRueidisCache(t *testing.T) {
	s := start(t)
	ctx := within(t)
	for name, options := range map[string][]string{"opt in": nil, "broadcast": {"PREFIX", "key", "BCAST"}, "opt out": {"OPTOUT"}} {
		t.Run(name, func(t *testing.T) {
			c := s.rueidis(t, func(o *rueidis.ClientOption) { o.ClientTrackingOptions = options })
			other := s.connect(t)
			require.NoError(t, other.FlushAll(ctx).Err())
			get := func(key string) rueidis.RedisResult {
				return c.DoCache(ctx, c.B().Get().Key(key).Cache(), time.Hour)
			}
			for round := range 20 {
				value := strconv.Itoa(round)
				require.NoError(t, other.Set(ctx, "key", value, 0).Err())
				eventually(t, func() bool {
					got, err := get("key").ToString()
					return err == nil && got == value
				}, "the change is seen")
				require.True(t, get("key").IsCacheHit())
			}
			require.NoError(t, other.Set(ctx, "key2", "two", time.Minute).Err())
			eventually(t, func() bool {
				got := c.DoMultiCache(ctx, rueidis.CT(c.B().Get().Key("key").Cache(), time.Hour), rueidis.CT(c.B().Get().Key("key2").Cache(), time.Hour))
				two, err := got[1].ToString()
				return err == nil && two == "two" && got[0].IsCacheHit() && got[1].IsCacheHit()
			}, "both are cached")
			r := get("key2")
			require.LessOrEqual(t, r.CachePTTL(), time.Minute.Milliseconds(), "not longer than the key lives")
			require.NoError(t, other.FlushAll(ctx).Err())
			eventually(t, func() bool { return rueidis.IsRedisNil(get("key").Error()) }, "the flush is seen")
		})
	}
}

func TestRueidisPubSub(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.rueidis(t, func(o *rueidis.ClientOption) { o.AlwaysRESP2, o.DisableCache = p == 2, p == 2 })
		got := make(chan rueidis.PubSubMessage, 10)
		ended := make(chan error, 1)
		go func() {
			ended <- c.Receive(ctx, c.B().Subscribe().Channel("news").Build(), func(m rueidis.PubSubMessage) { got <- m })
		}()
		eventually(t, func() bool {
			n, err := c.Do(ctx, c.B().Publish().Channel("news").Message("hello").Build()).AsInt64()
			return err == nil && n == 1
		}, "subscribed")
		require.Equal(t, rueidis.PubSubMessage{Channel: "news", Message: "hello"}, <-got)
		require.NoError(t, c.Do(ctx, c.B().Unsubscribe().Channel("news").Build()).Error())
		require.NoError(t, <-ended)
	})
}

func TestRueidisScripts(t *testing.T) {
	s := start(t)
	protocols(t, func(t *testing.T, p int) {
		ctx := within(t)
		c := s.rueidis(t, func(o *rueidis.ClientOption) { o.AlwaysRESP2, o.DisableCache = p == 2, p == 2 })
		require.NoError(t, c.Do(ctx, c.B().Flushall().Build()).Error())
		require.NoError(t, c.Do(ctx, c.B().ScriptFlush().Build()).Error())
		sell := rueidis.NewLuaScript(sale)
		require.NoError(t, c.Do(ctx, c.B().Set().Key("seckill:stock:7").Value("2").Build()).Error())
		var got []int64
		for _, user := range []string{"a", "a", "b", "c"} {
			n, err := sell.Exec(ctx, c, nil, []string{"7", user, "order-" + user}).AsInt64()
			require.NoError(t, err)
			got = append(got, n)
		}
		require.Equal(t, []int64{0, 2, 0, 1}, got)
		look := rueidis.NewLuaScriptReadOnly(`return redis.call('get', KEYS[1])`)
		many := make([]rueidis.LuaExec, 50)
		for i := range many {
			many[i] = rueidis.LuaExec{Keys: []string{"seckill:stock:7"}}
		}
		for _, r := range look.ExecMulti(ctx, c, many...) {
			text, err := r.ToString()
			require.NoError(t, err)
			require.Equal(t, "0", text)
		}
	})
}

// TestRueidisLock: its locks wait by client-side caching; over one server they need a majority of three keys.
func TestRueidisLock(t *testing.T) {
	s := start(t)
	for name, change := range map[string]func(*rueidislock.LockerOption){
		"tracking":         func(*rueidislock.LockerOption) {},
		"tracking no loop": func(o *rueidislock.LockerOption) { o.NoLoopTracking = true },
		"RESP2, SET PX":    func(o *rueidislock.LockerOption) { o.ClientOption.DisableCache, o.FallbackSETPX = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			locker := func() rueidislock.Locker {
				o := rueidislock.LockerOption{ClientOption: rueidis.ClientOption{InitAddress: []string{s.addr}, ForceSingleClient: true},
					KeyMajority: 2, KeyValidity: 2 * time.Second, KeyPrefix: name}
				change(&o)
				l, err := rueidislock.NewLocker(o)
				require.NoError(t, err)
				t.Cleanup(l.Close)
				return l
			}
			ctx := within(t)
			first, second := locker(), locker()
			held, release, err := first.WithContext(ctx, "door")
			require.NoError(t, err)
			_, _, err = second.TryWithContext(ctx, "door")
			require.ErrorIs(t, err, rueidislock.ErrNotLocked)
			taken, releaseTaken, err := second.ForceWithContext(ctx, "door")
			require.NoError(t, err)
			<-held.Done()
			require.ErrorIs(t, held.Err(), context.Canceled, "whoever is robbed of it learns it")
			release()
			require.NoError(t, taken.Err())
			releaseTaken()

			if name == "tracking no loop" {
				return // its waiters of one process can miss each other, on a real Redis as well
			}
			var inside, entered atomic.Int32
			var wg sync.WaitGroup
			for _, l := range []rueidislock.Locker{first, second} {
				for range 5 {
					wg.Go(func() {
						for range 10 {
							_, release, err := l.WithContext(ctx, "counter")
							if err != nil {
								t.Errorf("WithContext: %v", err)
								return
							}
							if n := inside.Add(1); n != 1 {
								t.Errorf("%d inside", n)
							}
							entered.Add(1)
							inside.Add(-1)
							release()
						}
					})
				}
			}
			wg.Wait()
			require.EqualValues(t, 100, entered.Load())
		})
	}
}
