package server

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// slowCommands are the commands of SLOWLOG GET, the latest first, a line each.
func slowCommands(c *testkit.Client) []string {
	var list []string
	for _, e := range c.Do("SLOWLOG", "GET", "-1").Elems {
		var words []string
		for _, arg := range e.Elems[3].Elems {
			words = append(words, arg.Str)
		}
		list = append(list, strings.Join(words, " "))
	}
	return list
}

// slowOf returns the entries that a pipeline has added to the log of slow commands.
func slowOf(c *testkit.Client, words ...string) []string {
	pipeline := [][]string{}
	for _, line := range words {
		pipeline = append(pipeline, strings.Fields(line))
	}
	c.Do("SLOWLOG", "RESET")
	c.Pipeline(pipeline)
	return slowCommands(c)
}

// The machine may hold up any command for as long as a slow one takes, once. So what is right is tried until
// it is seen; what is wrong is wrong each time.
func TestSlowlogOfOneCommand(t *testing.T) {
	srv := startWith(t, Options{}, func(c *config.Config) { c.EnableDebugCommand = config.AccessYes })
	c := client(t, srv)
	c.Do("CLIENT", "SETNAME", "me")
	begun := time.Now().Unix()
	eventually(t, func() bool { return len(slowOf(c, "DEBUG SLEEP 0.001", "PING")) == 0 }, "the default is 10 ms")
	eventually(t, func() bool {
		return slices.Equal(slowOf(c, "SET k v", "DEBUG SLEEP 0.012", "GET k"), []string{"DEBUG SLEEP 0.012"})
	},
		"what is measured for itself is not held against others")
	e := c.Do("SLOWLOG", "GET").Elems[0]
	require.GreaterOrEqual(t, e.Elems[1].Int, begun)
	require.LessOrEqual(t, e.Elems[1].Int, time.Now().Unix())
	require.GreaterOrEqual(t, e.Elems[2].Int, int64(12_000))
	require.Equal(t, `"in-process" "me"`, e.Elems[4].String()+" "+e.Elems[5].String())
	eventually(t, func() bool {
		return slices.Equal(slowOf(c, "MULTI", "DEBUG SLEEP 0.011", "EXEC"), []string{"DEBUG SLEEP 0.011"})
	}, "not EXEC")
	c.Do("CONFIG", "SET", "slowlog-log-slower-than", "-1")
	require.Empty(t, slowOf(c, "DEBUG SLEEP 0.012"))
}

// leapingClock goes on by a step between two looks at it, once.
type leapingClock struct {
	us    int64
	leaps []int64 // what the next looks add
}

func (c *leapingClock) NowUS() int64 {
	if len(c.leaps) > 0 {
		c.us += c.leaps[0]
		c.leaps = c.leaps[1:]
	}
	return c.us
}

// Short commands that took long together: the one with the most data is named.
func TestSlowlogOfABatch(t *testing.T) {
	clock := &leapingClock{us: 1_750_000_000_000_000}
	srv, err := newInstance(Options{Clock: clock, Seed: 1})
	require.NoError(t, err)
	batch := [][][]byte{}
	for _, l := range []string{"GET k", "SET k " + strings.Repeat("x", 50), "AUTH x", "NOSUCH " + strings.Repeat("x", 900),
		"KEYS " + strings.Repeat("x", 900), "GET j"} {
		args, _ := resp.SplitWords(nil, []byte(l))
		batch = append(batch, args)
	}
	s := &session{executor: &srv.executor}
	run := func(tookUS, measuredUS int64) {
		srv.executor.Begin()
		srv.executor.Gauge.BeginBatch()
		srv.executor.Gauge.MeasuredUS = measuredUS
		clock.leaps = []int64{tookUS}
		meter{&srv.executor}.endBatch(s, batch)
	}
	run(9_999, 0)
	run(20_000, 10_001)
	require.Zero(t, srv.executor.Stats.Slow.Len())
	run(10_000, 0)
	run(30_000, 10_000)
	require.Equal(t, 2, srv.executor.Stats.Slow.Len())
	require.Equal(t, "SET", string(srv.executor.Stats.Slow.Latest(1).Args[0]))
	require.EqualValues(t, 20_000, srv.executor.Stats.Slow.Latest(0).Figure)
	require.Zero(t, srv.executor.Stats.Slow.Latest(1).ID)
	require.EqualValues(t, 1, srv.executor.Stats.Slow.Latest(0).ID)

	srv.executor.config.SlowlogSlowerThanUS = 5 // now every command is measured for itself
	srv.executor.applyConfig()
	run(30_000, 0)
	srv.executor.config.SlowlogSlowerThanUS = -1
	srv.executor.applyConfig()
	run(30_000, 0)
	require.Equal(t, 2, srv.executor.Stats.Slow.Len())
}

// With the defaults, the commands of the hot path are not measured one by one, and
// those that may take long are.
func TestWhatIsMeasured(t *testing.T) {
	srv, err := newInstance(Options{})
	require.NoError(t, err)
	timed := func(words ...string) bool {
		var argv [][]byte
		for _, w := range words {
			argv = append(argv, []byte(w))
		}
		row, err := srv.executor.Table.Resolve(argv)
		require.NoError(t, err)
		return srv.executor.Gauge.Timed[row.Index()]
	}
	for _, short := range []string{"GET k", "SET k v", "INCR k", "HGET k f", "PING", "HSET k f v", "LOCK k o", "UNLOCK k o"} {
		require.False(t, timed(strings.Fields(short)...), short)
	}
	for _, long := range []string{"KEYS *", "SMEMBERS k", "HGETALL k", "DEBUG SLEEP", "SUNION k", "FLUSHALL", "SAVE"} {
		require.True(t, timed(strings.Fields(long)...), long)
	}
	for _, change := range []func(c *config.Config){
		func(c *config.Config) { c.SlowlogSlowerThanUS = 999 },
		func(c *config.Config) { c.LatencyMonitorThresholdMS = 1 },
	} {
		before := *srv.executor.config
		change(srv.executor.config)
		srv.executor.applyConfig()
		require.True(t, timed("GET", "k"))
		require.False(t, srv.executor.Gauge.Together)
		*srv.executor.config = before
	}
	srv.executor.config.SlowlogSlowerThanUS = -1
	srv.executor.applyConfig()
	require.True(t, timed("KEYS", "*"), "a pipeline sees a new time behind a long command")
	require.False(t, timed("GET", "k"))
	require.False(t, srv.executor.Gauge.Together)
}

func TestLatencyEvents(t *testing.T) {
	srv := startWith(t, Options{}, func(c *config.Config) { c.EnableDebugCommand = config.AccessYes })
	c := client(t, srv)
	require.Contains(t, c.Do("LATENCY", "DOCTOR").Str, "Nothing is watched")
	c.Do("CONFIG", "SET", "latency-monitor-threshold", "60000")
	require.Contains(t, c.Do("LATENCY", "DOCTOR").Str, "Nothing took 60000 ms")
	c.Do("CONFIG", "SET", "latency-monitor-threshold", "5")
	var latest []resp.Value
	begun := time.Now().Unix()
	eventually(t, func() bool {
		c.Do("LATENCY", "RESET")
		c.Do("DEBUG", "SLEEP", "0.006")
		c.Do("DEBUG", "SLEEP", "0.012")
		c.Do("GET", "k")
		latest = c.Do("LATENCY", "LATEST").Elems
		return len(latest) == 1 && len(c.Do("LATENCY", "HISTORY", "command").Elems) <= 2
	}, "only the commands that sleep are events")
	require.Equal(t, "command", latest[0].Elems[0].Str)
	require.GreaterOrEqual(t, latest[0].Elems[1].Int, begun)
	require.LessOrEqual(t, latest[0].Elems[1].Int, time.Now().Unix())
	require.GreaterOrEqual(t, latest[0].Elems[3].Int, int64(12))
	history := c.Do("LATENCY", "HISTORY", "command").Elems
	require.NotEmpty(t, history)
	require.Contains(t, c.Do("LATENCY", "GRAPH", "command").Str, "#")
	doctor := c.Do("LATENCY", "DOCTOR").Str
	require.Contains(t, doctor, "command: ")
	require.Contains(t, doctor, "SLOWLOG GET shows the commands")
	require.Equal(t, "0", c.Do("LATENCY", "RESET", "nosuch").String())
	require.Equal(t, "1", c.Do("LATENCY", "RESET", "command", "nosuch").String())
	eventually(t, func() bool {
		c.Do("LATENCY", "RESET")
		return c.Do("LATENCY", "LATEST").String() == "[]"
	}, "nothing takes long")
}

func TestLatencyHistogram(t *testing.T) {
	srv := start(t, Options{})
	c := client(t, srv)
	c.Hello(3)
	c.Do("CONFIG", "SET", "latency-tracking", "no")
	require.Equal(t, "{}", c.Do("LATENCY", "HISTOGRAM").String(), "it is off")
	require.Equal(t, "txt:# Latencystats\r\n", c.Do("INFO", "latencystats").Str)
	c.Do("CONFIG", "SET", "latency-tracking", "yes")
	c.Do("CONFIG", "RESETSTAT")
	for range 5 {
		c.Do("GET", "k")
	}
	c.Do("CONFIG", "GET", "x")
	c.Do("CLIENT", "ID")
	h := c.Do("LATENCY", "HISTOGRAM", "GET", "nosuch", "config", "get").Elems
	require.Len(t, h, 6)
	require.Equal(t, `"get"`, h[0].String())
	require.Equal(t, `"config|get"`, h[2].String())
	require.Equal(t, `"config|resetstat"`, h[4].String())
	require.Equal(t, "calls", h[1].Elems[0].Str)
	require.EqualValues(t, 5, h[1].Elems[1].Int)
	buckets := h[1].Elems[3].Elems
	require.EqualValues(t, 5, buckets[len(buckets)-1].Int, "they add up")
	require.NotEmpty(t, c.Do("LATENCY", "HISTOGRAM").Elems)
	c.Do("CONFIG", "RESETSTAT")
	require.Equal(t, "{}", c.Do("LATENCY", "HISTOGRAM", "get").String())
}

// The counts of commands that are refused, that fail, and that run inside of others are those of Redis
// 7.4.1.
func TestCommandStatistics(t *testing.T) {
	c := client(t, start(t, Options{}))
	c.Do("SET", "s", "v")
	c.Do("INCR", "s")
	c.Do("GET")
	c.Do("NOSUCH")
	c.Do("LPUSH", "s", "1")
	c.Do("EVAL", "return redis.call('incr','s')", "0")
	c.Do("EVAL", "return redis.pcall('incr','s')", "0")
	c.Do("EVAL", "return redis.error_reply('MY err')", "0")
	c.Do("EVAL", "return 1", "0")
	c.Do("MULTI")
	c.Do("INCR", "s")
	c.Do("EXEC")
	for name, want := range map[string]string{
		"set": "calls=1,rejected_calls=0,failed_calls=0", "incr": "calls=4,rejected_calls=0,failed_calls=4",
		"get": "calls=0,rejected_calls=1,failed_calls=0", "lpush": "calls=1,rejected_calls=0,failed_calls=1",
		"eval": "calls=4,rejected_calls=0,failed_calls=3", "exec": "calls=1,rejected_calls=0,failed_calls=0",
	} {
		got := regexp.MustCompile(`usec=\d+,usec_per_call=\d+\.\d\d,`).ReplaceAllString(infoField(t, c, "cmdstat_"+name), "")
		require.Equal(t, want, got, name)
	}
	require.Equal(t, "# Errorstats\r\nerrorstat_ERR:count=6\r\nerrorstat_MY:count=1\r\nerrorstat_WRONGTYPE:count=1\r\n",
		c.Do("INFO", "errorstats").Str)
	require.Regexp(t, `^p50=\d+\.\d{3},p99=\d+\.\d{3},p99\.9=\d+\.\d{3}$`, infoField(t, c, "latency_percentiles_usec_set"))
	c.Do("CONFIG", "RESETSTAT")
	require.Equal(t, "# Errorstats\r\n", c.Do("INFO", "errorstats").Str)
}

func TestMonitorIsBounded(t *testing.T) {
	srv := limitedOutput(t, nil, config.OutputLimit{HardBytes: 100_000})
	m, c := client(t, srv), client(t, srv)
	require.Equal(t, "+OK", m.Do("MONITOR").String())
	require.Contains(t, c.Do("CLIENT", "LIST").Str, " flags=O ")
	c.Do("SET", "k", "v\x00")
	require.Regexp(t, `^\+\d{10}\.\d{6} \[0 in-process\] "SET" "k" "v\\x00"$`, m.Receive().String())
	for i := range 50 {
		c.Do("SET", "k", strings.Repeat("x", 3000)+strconv.Itoa(i))
	}
	eventually(t, func() bool { return srv.connected() == 1 }, "it is closed")
	srv.executor.Mu.Lock()
	require.Empty(t, srv.executor.monitors)
	srv.executor.Mu.Unlock()

	// The calls of a script are shown while it runs. The bound holds meanwhile, because the lines are not
	// taken before its end.
	m = client(t, srv)
	m.Do("MONITOR")
	info := c.Do("EVAL", "for i = 1, 50 do redis.call('SET', KEYS[1], ARGV[1]) end return redis.call('INFO', 'clients')", "1", "k", strings.Repeat("x", 3000))
	require.Contains(t, info.Str, "connected_clients:1\r\n")
	eventually(t, func() bool { return srv.connected() == 1 }, "it is closed")

	m = client(t, srv)
	m.Do("MONITOR")
	m.Close()
	eventually(t, func() bool { return srv.connected() == 1 }, "it is gone")
	c.Do("PING")
	srv.executor.Mu.Lock()
	require.Empty(t, srv.executor.monitors)
	srv.executor.Mu.Unlock()
}
