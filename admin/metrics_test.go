package admin

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/testkit"
)

// served is a server with a port, and a client of it.
func served(t *testing.T, o server.Options) (*Port, *testkit.Client) {
	t.Helper()
	srv, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	return open(t, srv), testkit.Dial(t, srv.Dial)
}

// metricsOf scrapes a port, and has client_golang check what a registry would: that each series is there
// once, with the labels and the kind of value of its metric.
func metricsOf(t *testing.T, p *Port) string {
	t.Helper()
	_, err := prometheus.Gatherers{gatherer{p.shards}}.Gather()
	require.NoError(t, err)
	status, text := get(t, p, "/metrics")
	require.Equal(t, 200, status, text)
	return text
}

func TestMetrics(t *testing.T) {
	p, c := served(t, server.Options{Dir: t.TempDir(), AppendOnly: true, AppendFsync: "always",
		Directives: map[string]string{"latency-monitor-threshold": "1", "lock-watchdog-timeout": "60000"}})
	text := metricsOf(t, p)
	for _, line := range []string{`lockserver_locks_held{db="db0"} 0`, `lockserver_sales 0`, "redis_up 1", "redis_aof_enabled 1"} {
		require.Contains(t, text, "\n"+line+"\n", "what has not happened yet is drawn, too")
	}
	c.Do("SELECT", "3")
	c.Do("LOCK", "k", "a")
	c.Do("LOCK", "j", "a", "PX", "60000")
	c.Do("SECKILL.CREATE", "10", "STOCK", "5", "HOLD", "60000", "STREAM", "orders")
	c.Do("XGROUP", "CREATE", "orders", "workers", "0", "MKSTREAM")
	c.Do("SECKILL", "10", "user", "order", "QTY", "1")
	c.Do("SET", "seckill:stock:bare", "7")
	c.Do("SET", "seckill:stock:none", "many")
	c.Do("GET", "nothing")
	text = metricsOf(t, p)
	for _, line := range []string{
		`lockserver_locks_held{db="db3"} 2`, `lockserver_lock_watchdogs 1`, `lockserver_sales 3`,
		`lockserver_lock_wait_seconds_bucket{db="db3",le="+Inf"} 0`,
		`lockserver_sale_stock{db="db3",voucher="10"} 4`, `lockserver_sale_sold_total{db="db3",voucher="10"} 1`,
		`lockserver_sale_held{db="db3",voucher="10"} 1`, `lockserver_sale_lag{db="db3",group="workers",voucher="10"} 1`,
		`lockserver_sale_stock{db="db3",voucher="bare"} 7`,
		`redis_commands_total{cmd="xgroup|create"} 1`, `redis_keyspace_misses_total 1`, `redis_config_maxclients 10000`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	c.Do("SECKILL.CANCEL", "10", "user", "order")
	for _, line := range []string{`lockserver_sale_stock{db="db3",voucher="10"} 5`, `lockserver_sale_held{db="db3",voucher="10"} 0`,
		`lockserver_sale_returned_total{db="db3",voucher="10"} 1`, `lockserver_sale_sold_total{db="db3",voucher="10"} 1`} {
		require.Contains(t, metricsOf(t, p), "\n"+line+"\n", "a counter never falls")
	}
	require.NotContains(t, text, `voucher="none"`)
	require.Regexp(t, `\nlockserver_aof_sync_seconds_count [1-9]`, text)
	require.Regexp(t, `\nredis_instance_info\{[^\n]*redis_version="7\.4\.1"[^\n]*\} 1\n`, text)
	require.Regexp(t, `\nredis_latency_percentiles_usec\{cmd="lock",quantile="99\.9"\} \d`, text)
	require.Regexp(t, `\nredis_start_time_seconds 1\.\d+e\+09\n`, text)
}

// TestNamesThatClientsMakeUp spoil no scrape: they need not be text, and may be the same once they are.
func TestNamesThatClientsMakeUp(t *testing.T) {
	p, c := served(t, server.Options{})
	for _, name := range []string{"\xff", "\xfe", "a\"b\\\n", ""} {
		c.Do("SET", "seckill:stock:"+name, "1")
	}
	c.Do("EVAL", "return redis.error_reply('\xff\xfe text')", "0")
	text := metricsOf(t, p)
	require.Equal(t, 3, strings.Count(text, "\nlockserver_sale_stock{"))
	require.Contains(t, text, "\nredis_errors_total{err=\"\uFFFD\"} 1\n")
}

// TestOfMoreSalesThanMetrics: the number of series has a bound.
func TestOfMoreSalesThanMetrics(t *testing.T) {
	p, c := served(t, server.Options{})
	c.Do("EVAL", "for i = 1, 2100 do redis.call('SET', 'seckill:stock:' .. i, i) end", "0")
	text := metricsOf(t, p)
	require.Equal(t, mostSales, strings.Count(text, "\nlockserver_sale_stock{"))
	require.Contains(t, text, "\nlockserver_sales 2100\n")
	require.Contains(t, text, `voucher="2100"`, "the latest")
}

// TestEveryMetricIsDescribed: no metric has two meanings, and a scrape has none that is not described.
func TestEveryMetricIsDescribed(t *testing.T) {
	p, c := served(t, server.Options{})
	c.Do("PING")
	described := make(map[string]bool)
	for _, d := range Metrics() {
		require.False(t, described[d.Name], d.Name)
		require.NotEmpty(t, d.Help, d.Name)
		require.NotEmpty(t, d.Type, d.Name)
		require.True(t, slices.IsSorted(d.Labels), d.Name)
		described[d.Name] = true
	}
	require.Len(t, described, len(allMetrics()))
	for line := range strings.Lines(metricsOf(t, p)) {
		if words := strings.Fields(line); words[0] == "#" && words[1] == "TYPE" {
			require.True(t, described[words[2]], words[2])
		}
	}
}

// TestOldestWait: a wait that has not ended is seen, and grows. A wait for a limiter does not count.
func TestOldestWait(t *testing.T) {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	srv, err := server.New(server.Options{Clock: clock})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	p, c, waits := open(t, srv), testkit.Dial(t, srv.Dial), testkit.Dial(t, srv.Dial)
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_oldest_wait_seconds 0\n")
	c.Do("LIMIT.TAKE", "calls", "1", "1", "3600000")
	require.Contains(t, metricsOf(t, p), "\nlockserver_limiter_refusals_total 0\n")
	c.Do("LIMIT.TAKE", "calls", "1", "1", "3600000")
	require.Contains(t, metricsOf(t, p), "\nlockserver_limiter_refusals_total 1\n")
	require.Equal(t, "+QUEUED", c.Do("LIMIT.TAKE", "calls", "1", "1", "3600000", "WAIT", "0", "NOTIFY", "c").String())
	clock.Advance(time.Minute)
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_oldest_wait_seconds 0\n")
	c.Do("LOCK", "k", "a", "PX", "86400000")
	waits.Send("LOCK", "k", "b", "WAIT", "0")
	require.Eventually(t, func() bool { return len(c.Do("LOCK.WAITERS").Elems) > 1 }, time.Minute, time.Millisecond)
	clock.Advance(10 * time.Minute)
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_oldest_wait_seconds 600\n")
	c.Do("UNLOCK", "k", "a")
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_oldest_wait_seconds 0\n")
}

// TestWaitsWithNotify: a scrape has the waits that block no connection, and their grants.
func TestWaitsWithNotify(t *testing.T) {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	srv, err := server.New(server.Options{Clock: clock})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	p, c := open(t, srv), testkit.Dial(t, srv.Dial)
	c.Do("LOCK", "k", "a", "PX", "86400000")
	require.Equal(t, "+QUEUED", c.Do("LOCK", "k", "b", "WAIT", "0", "NOTIFY").String())
	text := metricsOf(t, p)
	require.Contains(t, text, "\nlockserver_lock_waiters_notify 1\n")
	require.Contains(t, text, "\nlockserver_lock_waiters{db=\"db0\"} 1\n")
	c.Do("UNLOCK", "k", "a")
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_grants_to_confirm 1\n")
	clock.Advance(10 * time.Second)
	text = metricsOf(t, p)
	require.Contains(t, text, "\nlockserver_lock_grants_to_confirm 0\n")
	require.Contains(t, text, "\nlockserver_lock_unconfirmed_grants_total 1\n")
}

// TestLongestHold: the lock that is held longest is seen, also after a start, which forgets who took it.
func TestLongestHold(t *testing.T) {
	clock := server.NewManualClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	options := server.Options{Clock: clock, Dir: t.TempDir()}
	srv, err := server.New(options)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	p, c := open(t, srv), testkit.Dial(t, srv.Dial)
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_longest_hold_seconds 0\n")
	c.Do("LOCK", "first", "a", "PX", "86400000")
	clock.Advance(time.Minute)
	c.Do("LOCK", "second", "a", "PX", "86400000")
	c.Do("LOCK", "read", "r1", "SHARED", "PX", "60000")
	clock.Advance(10 * time.Second)
	c.Do("LOCK", "read", "r2", "SHARED", "PX", "86400000")
	clock.Advance(10*time.Minute - 10*time.Second)
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_longest_hold_seconds 660\n")
	require.Contains(t, c.Do("INFO", "locks").String(), "lock_longest_hold_ms:660000")
	c.Do("UNLOCK", "first", "a")
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_longest_hold_seconds 600\n")
	require.Equal(t, "+OK", c.Do("SAVE").String())
	require.NoError(t, srv.Close())

	srv, err = server.New(options)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { _ = srv.Close() })
	p, c = open(t, srv), testkit.Dial(t, srv.Dial)
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_longest_hold_seconds 600\n")
	c.Do("UNLOCK", "second", "a")
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_longest_hold_seconds 590\n", "of the readers one is left")
	c.Do("UNLOCK", "read", "r2", "SHARED")
	require.Contains(t, metricsOf(t, p), "\nlockserver_lock_longest_hold_seconds 0\n")
}

// TestMetricsOfDelayedEntries: those that wait, by database, and those that were added.
func TestMetricsOfDelayedEntries(t *testing.T) {
	clock := server.NewManualClock(time.UnixMilli(1_750_000_000_000))
	p, c := served(t, server.Options{Clock: clock})
	text := metricsOf(t, p)
	for _, line := range []string{`lockserver_delayed_pending{db="db0"} 0`, "lockserver_delayed_fired_total 0", "lockserver_delayed_late_seconds_count 0"} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	c.Do("SELECT", "3")
	c.Do("DELAY.ADD", "s", "PX", "1000", "n", "1")
	c.Do("DELAY.ADD", "s", "PX", "2000", "n", "2")
	c.Do("DELAY.ADD", "t", "PX", "2000", "n", "3")
	require.Contains(t, metricsOf(t, p), "\nlockserver_delayed_pending{db=\"db3\"} 3\n")
	clock.Set(time.UnixMilli(1_750_000_001_250)) // and nothing is carried out until a command comes
	c.Do("PING")
	text = metricsOf(t, p)
	for _, line := range []string{`lockserver_delayed_pending{db="db3"} 2`, "lockserver_delayed_fired_total 1", "lockserver_delayed_late_seconds_count 1",
		"lockserver_delayed_late_seconds_sum 0.25", `lockserver_delayed_late_seconds_bucket{le="0.1"} 0`, `lockserver_delayed_late_seconds_bucket{le="0.25"} 1`,
		"lockserver_delayed_recurred_total 0", "lockserver_delayed_skipped_total 0"} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	c.Do("DELAY.ADD", "s", "EVERY", "10", "TIMES", "3", "n", "4")
	c.Do("DELAY.ADD", "s", "EVERY", "500", "MISSED", "SKIP", "ID", "skips", "n", "5")
	c.Do("ZADD", "{s}:delayed", "1", "a0:skips") // due before the server has run
	clock.Advance(15 * time.Millisecond)
	text = metricsOf(t, p)
	for _, line := range []string{"lockserver_delayed_fired_total 2", "lockserver_delayed_recurred_total 1", "lockserver_delayed_skipped_total 1"} {
		require.Contains(t, text, "\n"+line+"\n")
	}
}

// TestMetricsOfCounts: what LIMIT.GIVE, SECKILL.EXTEND, SECKILL.CART and PRIORITY brought about. A call that
// brought nothing about does not count.
func TestMetricsOfCounts(t *testing.T) {
	p, c := served(t, server.Options{})
	requireCounts := func(of string, n int) {
		t.Helper()
		require.Contains(t, metricsOf(t, p), "\nlockserver_"+of+"_total "+strconv.Itoa(n)+"\n")
	}
	c.Do("LIMIT.GIVE", "calls", "2", "1", "3600000") // it is full
	c.Do("LIMIT.TAKE", "calls", "2", "1", "3600000")
	c.Do("LIMIT.GIVE", "calls", "2", "1", "3600000", "COST", "0")
	requireCounts("limiter_gives", 0)
	c.Do("LIMIT.GIVE", "calls", "2", "1", "3600000")
	requireCounts("limiter_gives", 1)

	for _, voucher := range []string{"hat", "shoe"} {
		require.Equal(t, "+OK", c.Do("SECKILL.CREATE", voucher, "STOCK", "1", "HOLD", "3600000").String())
	}
	for range 2 { // the second is a retry
		require.Equal(t, "0", c.Do("SECKILL.CART", "ann", "one", "2", "hat", "1", "shoe", "1").String())
	}
	requireCounts("sale_carts", 1)
	requireCounts("sale_cart_refusals", 0)
	c.Do("SECKILL.CART", "ben", "two", "1", "hat", "1")
	requireCounts("sale_carts", 1)
	requireCounts("sale_cart_refusals", 1)
	require.EqualValues(t, 1, c.Do("SECKILL.EXTEND", "hat", "ann", "one", "1").Int) // it ends later already
	c.Do("SECKILL.EXTEND", "hat", "ann", "other", "7200000")
	requireCounts("sale_extensions", 0)
	require.EqualValues(t, 1, c.Do("SECKILL.EXTEND", "hat", "ann", "one", "7200000").Int)
	requireCounts("sale_extensions", 1)

	c.Do("LOCK", "k", "ann")
	require.Equal(t, "+QUEUED", c.Do("LOCK", "k", "ben", "WAIT", "0", "PRIORITY", "0", "NOTIFY").String())
	requireCounts("lock_priority_waits", 0)
	require.Equal(t, "+QUEUED", c.Do("LOCK", "k", "cat", "WAIT", "0", "PRIORITY", "1", "NOTIFY").String())
	requireCounts("lock_priority_waits", 1)
	c.Do("CONFIG", "RESETSTAT")
	requireCounts("lock_priority_waits", 0)
}

// TestMetricsOfPermits: what semaphores of a class were asked for, and what waits for permits.
func TestMetricsOfPermits(t *testing.T) {
	p, c := served(t, server.Options{Directives: map[string]string{"lock-class": "pools pool:*"}})
	require.Positive(t, c.Do("SEM.ACQUIRE", "pool:a", "ann", "LIMIT", "3", "PERMITS", "2").Int)
	require.Positive(t, c.Do("SEM.ACQUIRE", "pool:a", "bob").Int)
	require.Positive(t, c.Do("SEM.ACQUIRE", "else", "ann", "LIMIT", "1").Int)
	require.Positive(t, c.Do("LOCK", "pool:lock", "ann").Int)
	require.Equal(t, "+QUEUED", c.Do("SEM.ACQUIRE", "pool:a", "eve", "PERMITS", "2", "WAIT", "0", "NOTIFY").String())
	text := metricsOf(t, p)
	for _, line := range []string{
		`lockserver_semaphore_grants_total{class="pools"} 2`, `lockserver_semaphore_waiters{class="pools"} 1`,
		`lockserver_semaphore_grants_total{class="other"} 1`, `lockserver_semaphore_waiters{class="other"} 0`,
		`lockserver_lock_class_grants_total{class="pools"} 3`, `lockserver_lock_class_waiters{class="pools"} 1`,
		`lockserver_locks_held{db="db0"} 4`, `lockserver_lock_waiters{db="db0"} 1`, `lockserver_lock_waiters_notify 1`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	require.Zero(t, c.Do("SEM.RELEASE", "pool:a", "ann").Int)
	text = metricsOf(t, p)
	for _, line := range []string{
		`lockserver_semaphore_grants_total{class="pools"} 3`, `lockserver_semaphore_waiters{class="pools"} 0`,
		`lockserver_lock_grants_to_confirm 1`, `lockserver_lock_handoffs_total{db="db0"} 1`,
		`lockserver_lock_class_wait_seconds_count{class="pools"} 1`,
	} {
		require.Contains(t, text, "\n"+line+"\n")
	}
}

// TestMetricsOfLatches: the latches that clients wait for, by database. They are no locks.
func TestMetricsOfLatches(t *testing.T) {
	p, c := served(t, server.Options{})
	for _, line := range []string{`lockserver_latches{db="db0"} 0`, `lockserver_latch_waiters{db="db0"} 0`} {
		require.Contains(t, metricsOf(t, p), "\n"+line+"\n", "what has not happened yet is drawn, too")
	}
	c.Do("SELECT", "3")
	c.Do("LATCH.SET", "batch", "2")
	for range 2 {
		waits := testkit.Dial(t, p.shards[0].(*server.Server).Dial)
		waits.Do("SELECT", "3")
		waits.Send("LATCH.WAIT", "batch", "WAIT", "0")
	}
	require.Eventually(t, func() bool { return len(c.Do("LOCK.WAITERS").Elems) == 2 }, 30*time.Second, time.Millisecond)
	text := metricsOf(t, p)
	for _, line := range []string{`lockserver_latches{db="db3"} 1`, `lockserver_latch_waiters{db="db3"} 2`, `lockserver_lock_waiters{db="db3"} 0`} {
		require.Contains(t, text, "\n"+line+"\n")
	}
	c.Do("LATCH.DOWN", "batch", "2")
	require.NotContains(t, metricsOf(t, p), `lockserver_latch_waiters{db="db3"}`)
}
