package server

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/rusage"
	"lockserver/server/memory"
	"lockserver/tests/testkit"
)

const oom = "OOM command not allowed when used memory > 'maxmemory'."

var allPolicies = []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"}

// bounded is a configuration with a bound of memory, which leaves a number of bytes for data and clients.
func bounded(bytes int64, policy string) func(c *config.Config) {
	return func(c *config.Config) { c.MaxMemory, c.MaxMemoryPolicy = memory.Startup+bytes, policy }
}

// infoNumber returns a line of INFO as a number.
func infoNumber(t *testing.T, c *testkit.Client, name string) int64 {
	t.Helper()
	return testkit.InfoNumber(t, c, name)
}

// TestFullMemory: without a policy, what would take more is refused, and nothing else.
func TestFullMemory(t *testing.T) {
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		c := testkit.Dial(t, dial)
		require.Equal(t, "+OK", c.Do("SET", "k", strings.Repeat("v", 100_000)).String())
		held := c.Do("LOCK", "held", "me", "PX", "600000").String()
		require.Equal(t, "+QUEUED", inMulti(c, "SET", "l", "v"))
		other := testkit.Dial(t, dial)
		limit := fmt.Sprint(infoNumber(t, other, "used_memory") - 50_000) // far more than buffers come and go with
		require.Equal(t, "+OK", other.Do("CONFIG", "SET", "maxmemory", limit).String())
		require.Equal(t, "EXECABORT Transaction discarded because of: "+oom, c.Do("EXEC").Str)
		for _, refused := range []string{"SET k w", "APPEND k w", "LPUSH m w", "LOCK lock a PX 1000", "INCR n", "XADD x * f v"} {
			require.Equal(t, oom, c.Do(strings.Fields(refused)...).Str, refused)
		}
		require.Equal(t, "vvv", c.Do("GETRANGE", "k", "0", "2").Str)
		require.Equal(t, oom, c.Do("GUARD", "held", held, "SET", "k", "w").Str)
		require.Equal(t, "1", c.Do("GUARD", "held", held, "EXISTS", "k").String())
		require.Equal(t, "+QUEUED", inMulti(c, "DISCARD"), "nothing is refused that ends a transaction")

		require.Equal(t, "+OK", c.Do("MULTI").String())
		require.Equal(t, "+QUEUED", c.Do("GET", "k").String())
		require.Equal(t, oom, c.Do("SET", "k", "w").Str, "what needs memory is refused when it is queued")
		require.Equal(t, "EXECABORT Transaction discarded because of previous errors.", c.Do("EXEC").Str)
		require.Equal(t, "+OK", c.Do("MULTI").String())
		require.Equal(t, "[]", c.Do("EXEC").String())

		require.Equal(t, "1", c.Do("DEL", "k").String())
		require.Equal(t, "+OK", c.Do("SET", "k", "w").String())
		require.Zero(t, infoNumber(t, c, "evicted_keys"))
	})
}

// inMulti sends MULTI and a command, and returns its reply; for DISCARD that of a
// transaction that was queued into.
func inMulti(c *testkit.Client, words ...string) string {
	c.Do("MULTI")
	if words[0] == "DISCARD" {
		if got := c.Do("DISCARD").String(); got != "+OK" {
			return got
		}
		return "+QUEUED"
	}
	return c.Do(words...).String()
}

// TestEvictionKeepsTheBound: under a load of writes memory stays within 5 % of its bound, whatever
// the policy, and every write succeeds.
func TestEvictionKeepsTheBound(t *testing.T) {
	const most = 1 << 20
	rounds := testkit.Steps(6_000, 12_000)
	for _, policy := range allPolicies {
		t.Run(policy, func(t *testing.T) {
			srv := startWith(t, Options{}, bounded(most, policy))
			c := client(t, srv)
			for i := range rounds {
				c.Send("SET", fmt.Sprint("key:", i), strings.Repeat("v", i%300), "PX", fmt.Sprint(1_000_000+i))
				switch i % 4 {
				case 0:
					c.Send("RPUSH", fmt.Sprint("list:", i/40), "element", strings.Repeat("e", i%100))
					c.Send("PEXPIRE", fmt.Sprint("list:", i/40), "1000000")
				case 1:
					c.Send("HSET", fmt.Sprint("hash:", i/40), fmt.Sprint(i), strings.Repeat("e", i%100))
					c.Send("PEXPIRE", fmt.Sprint("hash:", i/40), "1000000")
				}
				if got := c.Receive().String(); got != "+OK" { // require is not free
					require.Equal(t, "+OK", got)
				}
				if i%4 < 2 {
					if got := c.Receive().Str; strings.Contains(got, "OOM") {
						require.NotContains(t, got, "OOM")
					}
					c.Receive()
				}
				if i%100 == 99 {
					used := infoNumber(t, c, "used_memory") - memory.Startup
					require.Less(t, used, int64(most+most/20))
					if i > rounds*5/6 {
						require.Greater(t, used, int64(most-most/20))
					}
				}
			}
			require.Positive(t, infoNumber(t, c, "evicted_keys"))
		})
	}
}

// TestEvictionIsSeen: by who subscribed to events, who watches and who waits, and in the journal.
func TestEvictionIsSeen(t *testing.T) {
	journal := &units{}
	srv := startWith(t, Options{Journal: journal}, func(c *config.Config) {
		c.MaxMemoryPolicy = "allkeys-lru"
		require.NoError(t, setConfig(c, "notify-keyspace-events", "Ee"))
	})
	a, b := client(t, srv), client(t, srv)
	a.Do("SET", "k", "v")
	b.Do("WATCH", "k")
	listener := client(t, srv)
	listener.Do("SUBSCRIBE", "__keyevent@0__:evicted")
	require.Equal(t, "+OK", a.Do("CONFIG", "SET", "maxmemory", "1").String())
	message := listener.Receive() // without another command: the ticker evicts
	require.Equal(t, "k", message.Elems[2].Str)
	b.Do("MULTI")
	b.Do("PING")
	require.True(t, b.Do("EXEC").IsNull())
	require.Equal(t, int64(1), infoNumber(t, a, "evicted_keys"))
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	require.Equal(t, []string{"SET", "DEL"}, journal.list)
}

// TestInfoMemory: the fields that tell of the bound.
func TestInfoMemory(t *testing.T) {
	srv := startWith(t, Options{}, bounded(100<<20, "volatile-ttl"))
	c := client(t, srv)
	before := infoNumber(t, c, "used_memory")
	require.InDelta(t, memory.Startup+sessionBytes, before, 100)
	require.Equal(t, int64(memory.Startup), infoNumber(t, c, "used_memory_startup"))
	c.Do("SET", "k", strings.Repeat("v", 1600))
	used := infoNumber(t, c, "used_memory")
	require.InDelta(t, 1600, used-before, 150)
	require.InDelta(t, 1600, infoNumber(t, c, "used_memory_dataset"), 150)
	require.Equal(t, used, infoNumber(t, c, "used_memory_dataset")+infoNumber(t, c, "used_memory_overhead"))
	require.Contains(t, c.Do("INFO", "memory").Str, "maxmemory:105381888\r\nmaxmemory_human:100.50M\r\nmaxmemory_policy:volatile-ttl\r\n")
	c.Do("DEL", "k")
	require.Equal(t, before, infoNumber(t, c, "used_memory"))
	require.GreaterOrEqual(t, infoNumber(t, c, "used_memory_peak"), used)
	for _, step := range []struct{ field, call string }{
		{"used_memory_vm_eval", "EVAL|return 1|0"},
		{"used_memory_scripts_eval", "SCRIPT|LOAD|return 2"},
		{"used_memory_functions", "FUNCTION|LOAD|#!lua name=l\nredis.register_function('f', function() return 1 end)"},
		{"used_memory_vm_functions", "FCALL|f|0"},
		{"mem_clients_normal", "SUBSCRIBE|a|b"},
	} {
		was, field := infoNumber(t, c, "used_memory"), infoNumber(t, c, step.field)
		c.Do(strings.Split(step.call, "|")...)
		if strings.HasPrefix(step.call, "SUBSCRIBE") {
			c.Receive()
			c = client(t, srv)
		}
		if step.field != "used_memory_vm_functions" {
			require.Greater(t, infoNumber(t, c, step.field), field, step.call)
			require.Greater(t, infoNumber(t, c, "used_memory"), was, step.call)
		}
		require.Positive(t, infoNumber(t, c, step.field), step.call)
	}
	require.EqualValues(t, rusage.MachineBytes(), infoNumber(t, c, "total_system_memory"))
	require.Positive(t, infoNumber(t, c, "total_system_memory"))
}

// TestNothingFits: with a bound below what the server itself takes every write is refused, after all has gone
// that the policy lets go.
func TestNothingFits(t *testing.T) {
	for _, policy := range append(slices.Clone(allPolicies), "noeviction") {
		t.Run(policy, func(t *testing.T) {
			srv := startWith(t, Options{}, func(c *config.Config) { c.MaxMemoryPolicy = policy })
			c := client(t, srv)
			for i := range 5 {
				c.Do("SET", fmt.Sprint("k", i), "v")
			}
			c.Send("CONFIG", "SET", "maxmemory", "1")
			c.Send("SET", "k", "v")
			require.Equal(t, "+OK", c.Receive().String())
			require.Equal(t, oom, c.Receive().Str)
			want := int64(5)
			if strings.HasPrefix(policy, "allkeys") {
				want = 0
			}
			require.Equal(t, want, c.Do("DBSIZE").Int)
			require.Equal(t, oom, c.Do("SET", "k", "v").Str)
		})
	}
}

// TestInvalidationsMakeNoKeyGo: clients that track evicted keys are sent messages which are larger than the
// keys. Messages on their way are no reason to evict more keys.
func TestInvalidationsMakeNoKeyGo(t *testing.T) {
	onEveryTransport(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		see := testkit.Dial(t, dial)
		require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-random").String())
		keys := []string{"MGET"}
		for i := range 300 {
			keys = append(keys, fmt.Sprint(strings.Repeat("k", 600), i))
			see.Do("SET", keys[1+i], "v")
		}
		for range 10 {
			c := testkit.Dial(t, dial)
			c.Do("HELLO", "3")
			c.Do("CLIENT", "TRACKING", "ON")
			require.Len(t, c.Do(keys...).Elems, 300)
			c.Do("PING") // what its commands took is counted as gone
		}
		before := srv.Footprint()
		bound := before.Used - 40_000
		require.Equal(t, "+OK", see.Do("CONFIG", "SET", "maxmemory", fmt.Sprint(bound)).String())
		for range 20 {
			require.Equal(t, "+OK", see.Do("SET", "x", "y").String())
		}
		evicted := infoNumber(t, see, "evicted_keys")
		require.Greater(t, evicted, int64(0))
		require.LessOrEqual(t, evicted, int64(40_000/600+5), "a key takes 600 bytes, and a little more")
	})
}

// TestEvictionTenacity: how many keys one command evicts.
func TestEvictionTenacity(t *testing.T) {
	require.Equal(t, []int{16, 64, 128, 147, math.MaxInt}, []int{memory.EvictionKeys(0), memory.EvictionKeys(5), memory.EvictionKeys(10), memory.EvictionKeys(11), memory.EvictionKeys(100)})
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, func(c *config.Config) { c.MaxMemoryPolicy = "allkeys-random" })
	c := client(t, srv)
	for i := range 1000 {
		c.Do("SET", fmt.Sprint("k", i), "v")
	}
	c.Do("CONFIG", "SET", "maxmemory-eviction-tenacity", "5")
	c.Do("CONFIG", "SET", "maxmemory", "1")
	c.Do("GET", "k1")
	require.Equal(t, int64(64), infoNumber(t, c, "evicted_keys")-64, "INFO is a command, too")
	c.Do("CONFIG", "SET", "maxmemory-eviction-tenacity", "100")
	require.Zero(t, c.Do("DBSIZE").Int)
}

// TestObjectFreq: which of IDLETIME and FREQ there is depends on the policy, also while the server runs.
func TestObjectFreq(t *testing.T) {
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	c := client(t, srv)
	c.Do("SET", "k", "v")
	clock.Advance(5 * time.Second)
	require.Equal(t, "5", c.Do("OBJECT", "IDLETIME", "k").String())
	require.Contains(t, c.Do("OBJECT", "FREQ", "k").Str, "An LFU maxmemory policy is not selected")
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lfu", "lfu-log-factor", "0", "lfu-decay-time", "1").String())
	c.Do("DEL", "k")
	c.Do("SET", "k", "v")
	require.Equal(t, "5", c.Do("OBJECT", "FREQ", "k").String())
	for range 10 {
		c.Do("GET", "k")
	}
	require.Equal(t, "15", c.Do("OBJECT", "FREQ", "k").String())
	clock.Advance(4 * time.Minute)
	require.Equal(t, "11", c.Do("OBJECT", "FREQ", "k").String())
	require.Contains(t, c.Do("OBJECT", "IDLETIME", "k").Str, "An LFU maxmemory policy is selected")
	require.True(t, c.Do("OBJECT", "FREQ", "nope").IsNull())
}

// TestPoliciesAreNamed: every word that the directive takes means something to the store.
func TestPoliciesAreNamed(t *testing.T) {
	c := config.Default()
	for _, p := range append(slices.Clone(allPolicies), "noeviction") {
		require.Contains(t, policies, p)
		require.NoError(t, setConfig(c, "maxmemory-policy", p))
	}
	require.Len(t, policies, len(allPolicies)+1)
	require.Error(t, setConfig(c, "maxmemory-policy", "lru"))
}

func setConfig(c *config.Config, name, value string) error {
	_, err := c.Set([]string{name, value}, true)
	return err
}
