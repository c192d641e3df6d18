package clients

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// earlier is a client of an earlier go-redis, as far as the tests need one. goredis6_test.go and
// goredis8_test.go have one each; an error is the library's own, and redis.Nil is a nil without one.
type earlier interface {
	do(words ...any) (any, error)
	setNX(key, value string, lease time.Duration) (bool, error)
	hash(key string) (map[string]string, error)
	// script is a way to run a script as the library does, by its digest first.
	script(source string) func(keys []string, args ...any) (any, error)
	// increment adds 1 to a counter in a transaction that watches it; between runs after WATCH. ok is
	// false if the counter has changed meanwhile.
	increment(key string, between func()) (ok bool, err error)
	// listen subscribes to a channel and a pattern, which both matter until the client is closed.
	listen(channel, pattern string) (<-chan message, error)
	createGroup(stream, group string) error
	add(stream string, fields map[string]any) (id string, err error)
	read(stream, group, consumer string, count int64, block time.Duration) ([]entry, error)
	ack(stream, group string, ids ...string) (int64, error)
	// pending are the ids that each consumer of the group has not acknowledged.
	pending(stream, group string) (map[string][]string, error)
	claim(stream, group, consumer string, ids ...string) ([]entry, error)
	close() error
}

type message struct{ pattern, channel, text string }

type entry struct {
	id     string
	fields map[string]any
}

// eachEarlier runs a test with either version; connect makes clients that are closed with the test.
func eachEarlier(t *testing.T, test func(t *testing.T, connect func() earlier)) {
	s := start(t)
	for _, v := range []struct {
		name    string
		connect func(addr string) earlier
	}{{"v6", newGoRedis6}, {"v8", newGoRedis8}} {
		t.Run(v.name, func(t *testing.T) {
			connect := func() earlier {
				c := v.connect(s.addr)
				t.Cleanup(func() { _ = c.close() })
				return c
			}
			require.Equal(t, "OK", reply(t, connect(), "FLUSHALL"))
			test(t, connect)
		})
	}
}

// reply sends a command that must succeed, and returns its reply.
func reply(t *testing.T, c earlier, words ...any) any {
	t.Helper()
	got, err := c.do(words...)
	require.NoError(t, err)
	return got
}

// infoField is the value of a field in what INFO says.
func infoField(info, field string) string {
	_, rest, _ := strings.Cut(info, "\r\n"+field+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func TestEarlierLock(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		c := connect()
		unlock := c.script(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)
		var inside atomic.Int32
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for i := range 20 {
					owner := fmt.Sprint(w, "-", i)
					for {
						ok, err := c.setNX("lock", owner, time.Minute)
						if err != nil {
							t.Errorf("SET NX: %v", err)
							return
						}
						if ok {
							break
						}
					}
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d inside", n)
					}
					inside.Add(-1)
					if n, err := unlock([]string{"lock"}, owner); err != nil || n != int64(1) {
						t.Errorf("unlock: %v %v", n, err)
					}
				}
			})
		}
		wg.Wait()
		ok, err := c.setNX("lock", "paused", 50*time.Millisecond)
		require.NoError(t, err)
		require.True(t, ok)
		n, err := unlock([]string{"lock"}, "somebody else")
		require.NoError(t, err)
		require.EqualValues(t, 0, n)
		eventually(t, func() bool { return reply(t, c, "GET", "lock") == nil }, "the lease ends")
	})
}

func TestEarlierScriptsAndTransactions(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		c, other := connect(), connect()
		echo := c.script(`return {KEYS[1], ARGV[1], {1, {2.7}}, true}`)
		for range 2 {
			got, err := echo([]string{"k"}, "x")
			require.NoError(t, err)
			require.Equal(t, []any{"k", "x", []any{int64(1), []any{int64(2)}}, int64(1)}, got)
			reply(t, c, "SCRIPT", "FLUSH")
		}
		_, err := c.script(`return redis.error_reply('MY own error')`)(nil)
		require.ErrorContains(t, err, "MY own error")

		ok, err := c.increment("n", func() {})
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = c.increment("n", func() { reply(t, other, "SET", "n", 10) })
		require.NoError(t, err)
		require.False(t, ok, "it has changed since WATCH")
		require.Equal(t, "10", reply(t, c, "GET", "n"))
	})
}

func TestEarlierMessages(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		messages, err := connect().listen("news", "new*")
		require.NoError(t, err)
		c := connect()
		const n = 50
		for i := range n {
			require.EqualValues(t, 2, reply(t, c, "PUBLISH", "news", i))
		}
		heard := map[string][]string{}
		for range 2 * n {
			m := <-messages
			require.Equal(t, "news", m.channel)
			heard[m.pattern] = append(heard[m.pattern], m.text)
		}
		for _, pattern := range []string{"", "new*"} {
			require.Len(t, heard[pattern], n)
			for i, text := range heard[pattern] {
				require.Equal(t, fmt.Sprint(i), text)
			}
		}
	})
}

// TestEarlierStreams: a group of two. One of them dies with orders in its hands.
func TestEarlierStreams(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		c := connect()
		require.NoError(t, c.createGroup("orders", "workers"))
		require.ErrorContains(t, c.createGroup("orders", "workers"), "BUSYGROUP")
		const n = 60
		for i := range n {
			_, err := c.add("orders", map[string]any{"order": i})
			require.NoError(t, err)
		}
		done := map[any]bool{}
		finish := func(entries []entry, err error) {
			require.NoError(t, err)
			for _, e := range entries {
				require.False(t, done[e.fields["order"]], "an order is done once")
				done[e.fields["order"]] = true
				acked, err := c.ack("orders", "workers", e.id)
				require.NoError(t, err)
				require.EqualValues(t, 1, acked)
			}
		}
		lost, err := c.read("orders", "workers", "ann", 20, -1)
		require.NoError(t, err)
		require.Len(t, lost, 20)
		finish(c.read("orders", "workers", "ben", 1000, -1))
		pending, err := c.pending("orders", "workers")
		require.NoError(t, err)
		require.Len(t, pending, 1)
		require.Len(t, pending["ann"], 20)
		finish(c.claim("orders", "workers", "ben", pending["ann"]...))
		require.Len(t, done, n)

		waiting := make(chan []entry, 1)
		go func() {
			got, _ := connect().read("orders", "workers", "ann", 1, patience)
			waiting <- got
		}()
		eventually(t, func() bool {
			info, ok := reply(t, c, "INFO", "clients").(string)
			return ok && infoField(info, "blocked_clients") == "1"
		}, "it waits")
		id, err := c.add("orders", map[string]any{"order": "last"})
		require.NoError(t, err)
		require.Equal(t, []entry{{id, map[string]any{"order": "last"}}}, <-waiting)
	})
}

func TestEarlierSessions(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		c := connect()
		require.EqualValues(t, 2, reply(t, c, "HSET", "session:1", "id", 7, "name", "Ann"))
		require.EqualValues(t, 1, reply(t, c, "EXPIRE", "session:1", 1800))
		require.Greater(t, reply(t, c, "TTL", "session:1"), int64(1700))
		fields, err := c.hash("session:1")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"id": "7", "name": "Ann"}, fields)
		require.EqualValues(t, 8, reply(t, c, "HINCRBY", "session:1", "id", 1))
		reply(t, c, "PEXPIRE", "session:1", 50)
		eventually(t, func() bool { return reply(t, c, "EXISTS", "session:1") == int64(0) }, "it ends")
	})
}

func TestEarlierConnectsAgain(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		c, other := connect(), connect()
		reply(t, c, "SET", "k", "v")
		require.Positive(t, reply(t, other, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"))
		eventually(t, func() bool { // v6 tells of the broken connection first
			got, err := c.do("GET", "k")
			return err == nil && got == "v"
		}, "it is connected")
	})
}

func TestEarlierSale(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		c := connect()
		sell := c.script(saleScript)
		playSale(t, c, func(words ...any) (any, error) { return sell(nil, words...) })
	})
}

func TestNativeEarlier(t *testing.T) {
	eachEarlier(t, func(t *testing.T, connect func() earlier) {
		c := connect()
		playSale(t, c, func(words ...any) (any, error) { return c.do(append([]any{"SECKILL"}, words...)...) })

		var inside atomic.Int32
		var last atomic.Int64
		var wg sync.WaitGroup
		for w := range 5 {
			wg.Go(func() {
				for range 10 {
					token, err := c.do("LOCK", "door", w, "PX", 20_000, "WAIT", 0)
					if n := inside.Add(1); err != nil || n != 1 {
						t.Errorf("LOCK: %v, %d inside", err, n)
						return
					}
					if n := token.(int64); n <= last.Swap(n) {
						t.Errorf("token %d does not rise", n)
					}
					inside.Add(-1)
					if n, err := c.do("UNLOCK", "door", w, "TOKEN", token); err != nil || n != int64(1) {
						t.Errorf("UNLOCK: %v %v", n, err)
					}
				}
			})
		}
		wg.Wait()
		require.Nil(t, reply(t, c, "UNLOCK", "door", "nobody"))
	})
}
