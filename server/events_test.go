package server

import (
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server/wait"
)

// Once a second the server looks whether the disk or the collector has stopped the whole process.
func TestEventsOfTheDiskAndTheCollector(t *testing.T) {
	t.Parallel()
	clock, d := NewManualClock(time.UnixMilli(1_750_000_000_000)), newTestDisk()
	cfg := inDir(t.TempDir())
	cfg.AppendOnly, cfg.AppendFsync, cfg.LatencyMonitorThresholdMS = true, "always", 2
	srv := startOn(t, d, Options{Clock: clock, Directives: cfg.Directives()})
	var stats debug.GCStats
	srv.executor.Do(func() {
		srv.executor.Stats.Pauses.Read = func(s *debug.GCStats) { *s = stats }
	})
	c := client(t, srv)
	latest := func() string { return c.Do("LATENCY", "LATEST").String() }
	clock.Advance(time.Second)
	d.hold()
	c.Send("SET", "k", "v")
	require.Eventually(t, d.held, 30*time.Second, time.Millisecond)
	time.Sleep(3 * time.Millisecond)
	d.release()
	c.Receive()
	stats.NumGC, stats.Pause = 2, []time.Duration{time.Millisecond, 7 * time.Millisecond}
	clock.Advance(time.Second)
	require.Contains(t, latest(), `"aof-sync"`)
	require.Contains(t, latest(), `"gc"`)
	require.EqualValues(t, 7, c.Do("LATENCY", "HISTORY", "gc").Elems[0].Elems[1].Int)
	doctor := c.Do("LATENCY", "DOCTOR").Str
	require.Contains(t, doctor, "aof-sync: 1 samples")
	require.Contains(t, doctor, "the disk is slow")
	c.Do("LATENCY", "RESET")
	clock.Advance(2 * time.Second)
	require.NotContains(t, latest(), `"gc"`, "each is reported once")
	require.NotContains(t, latest(), `"aof-sync"`)
}

// A client that keeps all others waiting is logged, with the command and without its values.
func TestLineAboutALongBatch(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	clock := &leapingClock{us: 1_750_000_000_000_000}
	srv, err := newInstance(Options{Clock: clock, Seed: 1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	ex := &srv.executor
	var batch [][][]byte
	for _, l := range []string{"GET k", "SET secret-key secret-value", "NOSUCH secret"} {
		args, _ := resp.SplitWords(nil, []byte(l))
		batch = append(batch, args)
	}
	s := &session{executor: ex, Party: wait.Party{Number: 7}}
	s.Info.Name, s.Info.LibName = "shop-1", "jedis"
	keys := ex.Table.Lookup([]byte("keys"))
	run := func(tookUS, keysUS int64) string {
		log.Reset()
		ex.Begin()
		ex.Gauge.BeginBatch()
		ex.Gauge.Took(keys, keysUS)
		clock.leaps = []int64{tookUS}
		(meter{ex}).endBatch(s, batch)
		return log.String()
	}
	require.Empty(t, run(99_999, 0))
	line := run(100_000, 0)
	require.Contains(t, line, "ms=100 command=set commands=3 id=7")
	require.Contains(t, line, "name=shop-1 lib=jedis not-logged-before=0")
	require.NotContains(t, line, "secret")
	require.Empty(t, run(150_000, 0), "one in ten seconds")
	require.Empty(t, run(150_000, 0))
	clock.us += 10_000_000
	require.Contains(t, run(250_000, 240_000), "command=keys")
	clock.us += 10_000_000
	require.Contains(t, run(250_000, 10), "command=set")
	clock.us -= 3600_000_000
	require.NotEmpty(t, run(250_000, 0), "the clock was set back")
}
