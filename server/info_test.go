package server

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLolwutTellsTheVersion(t *testing.T) {
	c := client(t, start(t, Options{Version: "1.2.3"}))
	require.True(t, strings.HasSuffix(c.Do("LOLWUT", "VERSION", "6", "1").Str, "\nlockserver ver. 1.2.3\n"))
}

// TestInfoTraffic: what clients sent and were sent is counted, and rates are those of the last 1.6 seconds.
func TestInfoTraffic(t *testing.T) {
	now := NewManualClock(time.Unix(1_800_000_000, 0))
	c := client(t, start(t, Options{Clock: now}))
	now.Advance(time.Second)
	require.Equal(t, "+OK", c.Do("CONFIG", "RESETSTAT").String())
	for range 160 {
		c.Do("PING")
	}
	now.Advance(100 * time.Millisecond)
	require.Equal(t, "161", infoField(t, c, "total_commands_processed"), "and CONFIG RESETSTAT")
	in, err := strconv.Atoi(infoField(t, c, "total_net_input_bytes"))
	require.NoError(t, err)
	require.Equal(t, 160*len("*1\r\n$4\r\nPING\r\n")+2*len("*2\r\n$4\r\nINFO\r\n$10\r\neverything\r\n"), in)
	require.Equal(t, "100", infoField(t, c, "instantaneous_ops_per_sec"))
	require.NotEqual(t, "0.00", infoField(t, c, "instantaneous_input_kbps"))
	now.Advance(2 * time.Second)
	require.Equal(t, "0", infoField(t, c, "instantaneous_ops_per_sec"))
	require.Equal(t, "0.00", infoField(t, c, "instantaneous_output_kbps"))
}

// TestInfoOfAFullMemory: INFO tells for how long memory has been above its bound.
func TestInfoOfAFullMemory(t *testing.T) {
	now := NewManualClock(time.Unix(1_800_000_000, 0))
	c := client(t, start(t, Options{Clock: now}))
	c.Do("SET", "k", strings.Repeat("x", 1000))
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "maxmemory", "1").String())
	require.Contains(t, c.Do("SET", "k", "v").String(), "-OOM")
	now.Advance(3 * time.Second)
	require.Equal(t, "3000", infoField(t, c, "current_eviction_exceeded_time"))
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "maxmemory", "0").String())
	require.Equal(t, "0", infoField(t, c, "current_eviction_exceeded_time"))
	now.Advance(time.Second)
	require.Equal(t, "3000", infoField(t, c, "total_eviction_exceeded_time"))
}

// TestMeanTTL: INFO tells how long keys still live, on average.
func TestMeanTTL(t *testing.T) {
	now := NewManualClock(time.Unix(1_800_000_000, 0))
	c := client(t, start(t, Options{Clock: now}))
	mean := func() string {
		_, ttl, _ := strings.Cut(infoField(t, c, "db0"), "avg_ttl=")
		ttl, _, _ = strings.Cut(ttl, ",")
		return ttl
	}
	c.Do("SET", "a", "v")
	require.Equal(t, "0", mean())
	c.Do("PEXPIRE", "a", "5000")
	c.Do("SET", "b", "v", "PX", "20000")
	c.Do("SET", "c", "v", "PX", "1000")
	c.Do("PEXPIRE", "b", "10000")
	c.Do("PERSIST", "c")
	require.Equal(t, "7500", mean())
	now.Advance(time.Second)
	require.Equal(t, "6500", mean())
	now.Advance(4 * time.Second)
	require.Equal(t, "2500", mean(), "a lives through its last millisecond")
	now.Advance(time.Millisecond)
	require.Equal(t, "4999", mean(), "a is gone")
	c.Do("SET", "far", "v", "PXAT", "9223372036854775807")
	c.Do("SET", "farther", "v", "PXAT", "9223372036854775806")
	c.Do("DEL", "far", "farther")
	require.Equal(t, "4999", mean())
	c.Do("SELECT", "1")
	c.Do("SWAPDB", "0", "1")
	c.Do("FLUSHDB")
	require.Equal(t, "# Keyspace\r\n", c.Do("INFO", "keyspace").Str)
}

// TestPercentilesOfLatencies: latency-tracking-info-percentiles says which of them INFO tells.
func TestPercentilesOfLatencies(t *testing.T) {
	c := client(t, start(t, Options{}))
	c.Do("PING")
	const name = "latency_percentiles_usec_ping"
	require.Regexp(t, `^p50=\d+\.\d{3},p99=\d+\.\d{3},p99\.9=\d+\.\d{3}$`, infoField(t, c, name))
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "latency-tracking-info-percentiles", "100 12.5").String())
	require.Regexp(t, `^p100=\d+\.\d{3},p12\.5=\d+\.\d{3}$`, infoField(t, c, name))
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "latency-tracking-info-percentiles", "").String())
	require.Empty(t, infoField(t, c, name))
}

// TestVersionsInInfoAreNumbers: clients read each field with a name that ends in _version as numbers with
// dots. The server's own release need not be numbers.
func TestVersionsInInfoAreNumbers(t *testing.T) {
	srv := start(t, Options{Version: "dev"})
	c := client(t, srv)
	var versions []string
	for line := range strings.Lines(c.Do("INFO", "everything").Str) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasSuffix(name, "_version") {
			require.Regexp(t, `^\d+(\.\d+)*$`, value, name)
			versions = append(versions, name)
		}
	}
	require.Equal(t, []string{"redis_version", "gcc_version"}, versions)
	require.Contains(t, c.Do("INFO", "server").Str, "\r\nlockserver_release:dev\r\n")
}
