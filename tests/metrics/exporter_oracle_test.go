//go:build oracle

package metrics

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// exportersOwn lists redis_exporter's metrics about itself, and those that need flags.
var exportersOwn = []string{"redis_exporter_", "redis_target_scrape_request_errors_total", "redis_last_key_groups_scrape_duration_milliseconds",
	"redis_key_", "redis_stream_", "redis_total_system_memory_bytes"}

// busy gives a server data for every kind of metric that the exporter knows.
func busy(c *testkit.Client) {
	c.Do("CONFIG", "SET", "latency-monitor-threshold", "1", "slowlog-log-slower-than", "0")
	c.Do("SET", "name", "value", "EX", "1000")
	c.Do("GET", "none")
	c.Do("LPUSH", "name", "x")
	c.Do("NOSUCH")
	c.Do("GET")
	c.Do("HSET", "h", "f", "v")
	c.Do("HEXPIRE", "h", "1000", "FIELDS", "1", "f")
	c.Do("XADD", "jobs", "*", "f", "v")
	c.Do("XGROUP", "CREATE", "jobs", "workers", "0")
	c.Do("XREADGROUP", "GROUP", "workers", "w", "STREAMS", "jobs", ">")
	c.Do("EVAL", "for i = 1, 300000 do local x = tostring(i) end", "0")
	c.Do("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() end)")
	c.Do("SELECT", "3")
	c.Do("SET", "k", "v")
	c.Do("BGSAVE")
	c.Do("CLIENT", "TRACKING", "ON", "BCAST")
	c.Do("SUBSCRIBE", "news")
}

// TestNothingIsMissing: each metric that the exporter finds at a Redis exists here, with the same name,
// labels and type. The server's own page has it, too.
func TestNothingIsMissing(t *testing.T) {
	redis := testkit.StartRedis(t, "--appendonly", "yes")
	ours := lockserver(t, "--appendonly", "yes")
	busy(redis.Client(t))
	busy(ours.Client)
	atRedis := scraped(t, get(t, "http://"+exporter(t, redis.Socket)+"/metrics"))
	atOurs := scraped(t, get(t, "http://"+exporter(t, ours.socket)+"/metrics"))
	direct := scraped(t, ours.scrape(t))
	t.Logf("series by name and labels: %d by the exporter at Redis, %d by it here, %d directly", len(atRedis), len(atOurs), len(direct))
	require.Greater(t, len(atRedis), 140)
	for _, series := range slices.Sorted(maps.Keys(atRedis)) {
		require.Contains(t, atOurs, series, "by the exporter")
		require.Equal(t, atRedis[series], atOurs[series], "the type of %s, by the exporter", series)
		if !slices.ContainsFunc(exportersOwn, func(own string) bool { return strings.HasPrefix(series, own) }) {
			require.Contains(t, direct, series, "directly")
			require.Equal(t, atRedis[series], direct[series], "the type of %s", series)
		}
	}
}

// exportersNames lists names that promtool criticizes. redis_exporter has chosen them.
var exportersNames = []string{"redis_aof_current_rewrite_duration_sec", "redis_aof_last_rewrite_duration_sec", "redis_dump_payload_sanitizations",
	"redis_expired_time_cap_reached_total", "redis_io_threaded_reads_processed", "redis_io_threaded_writes_processed",
	"redis_migrate_cached_sockets_total", "redis_rdb_current_bgsave_duration_sec", "redis_rdb_last_bgsave_duration_sec",
	"redis_total_error_replies", "redis_total_reads_processed", "redis_total_writes_processed", "redis_unexpected_error_replies"}

// TestPromtoolIsContent: promtool accepts a scrape, except for names that are not ours.
func TestPromtoolIsContent(t *testing.T) {
	s := lockserver(t, "--appendonly", "yes")
	s.Do("LOCK", "k", "a")
	s.Do("SECKILL.CREATE", "shoes", "STOCK", "5", "HOLD", "60000", "STREAM", "jobs")
	busy(s.Client)
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(s.scrape(t))
	output, _ := check.CombinedOutput() // its exit code is not 0, because of these names
	var faulty []string
	for line := range strings.Lines(string(output)) {
		name, _, _ := strings.Cut(line, " ")
		faulty = append(faulty, strings.TrimSpace(name))
	}
	require.ElementsMatch(t, exportersNames, faulty, "%s", output)
}
