package server

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
)

// TestLockStats: what happens to locks is counted, by database and in all.
func TestLockStats(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, func(c *config.Config) {
		c.LatencyMonitorThresholdMS, c.CommandlogLockWaitLongerThanUS = 100, 2_000_000
	})
	a, b, asks := client(t, srv), client(t, srv), client(t, srv)
	stats := func() (all, second map[string]string) {
		m := entries(t, asks.Do("LOCK.STATS"))
		require.Len(t, m, 12)
		all, second = map[string]string{}, map[string]string{}
		dbs := entries(t, m["databases"])
		delete(m, "databases")
		delete(m, "classes")
		for k, v := range m {
			all[k] = strings.Trim(v.String(), `"`)
		}
		if db, ok := dbs["2"]; ok {
			for k, v := range entries(t, db) {
				second[k] = strings.Trim(v.String(), `"`)
			}
		}
		return all, second
	}
	all, second := stats()
	require.Equal(t, map[string]string{"held": "0", "waiting": "0", "handoffs": "0", "waits": "0", "wait-p50": "0", "wait-p99": "0",
		"wait-max": "0", "expired": "0", "deadlocks": "0", "stale-tokens": "0"}, all)
	require.Empty(t, second)

	a.Do("SELECT", "2")
	b.Do("SELECT", "2")
	token := a.Do("LOCK", "k", "a", "PX", "60000").String()
	b.Do("LOCK", "j", "b", "PX", "1500")
	b.Send("LOCK", "k", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	all, second = stats()
	require.Equal(t, all, second, "nothing is elsewhere")
	require.Equal(t, "2", all["held"])
	require.Equal(t, "1", all["waiting"])

	require.Contains(t, a.Do("LOCK", "j", "a", "WAIT", "0").String(), "DEADLOCK")
	clock.Advance(3 * time.Second) // j is over by then
	a.Do("UNLOCK", "k", "a")
	b.Receive()
	require.Contains(t, a.Do("GUARD", "k", token, "GET", "x").String(), "STALETOKEN")
	require.Equal(t, "0", a.Do("RENEW", "k", "a", "TOKEN", token).String())
	require.True(t, a.Do("UNLOCK", "k", "a", "TOKEN", token).IsNull())
	require.Equal(t, "0", a.Do("RENEW", "k", "a").String(), "without a token none is stale")
	all, second = stats()
	require.Equal(t, map[string]string{"held": "1", "waiting": "0", "handoffs": "1", "waits": "1", "wait-p50": "3000", "wait-p99": "3000",
		"wait-max": "3000", "expired": "1", "deadlocks": "1", "stale-tokens": "3"}, second)
	require.Equal(t, all, second)

	a.Do("SELECT", "0")
	a.Do("LOCK", "x", "a")
	all, second = stats()
	require.Equal(t, "2", all["held"])
	require.Equal(t, "1", second["held"])

	log := asks.Do("COMMANDLOG", "GET", "-1", "lock-wait").Elems
	require.Len(t, log, 1)
	require.EqualValues(t, 3_000_000, log[0].Elems[2].Int)
	require.Equal(t, "LOCK", log[0].Elems[3].Elems[0].Str)
	for _, slow := range asks.Do("SLOWLOG", "GET", "-1").Elems { // a busy machine may have some
		require.Less(t, slow.Elems[2].Int, int64(1_000_000), "a wait is not slow to run")
	}
	waits := slices.DeleteFunc(asks.Do("LATENCY", "LATEST").Elems, func(event resp.Value) bool {
		return event.Elems[0].Str != "lock-wait" // a busy machine may have had others
	})
	require.Len(t, waits, 1)
	require.EqualValues(t, 3000, waits[0].Elems[2].Int)
	require.Contains(t, asks.Do("LATENCY", "DOCTOR").Str, "lock-wait: 1 samples")

	asks.Do("CONFIG", "RESETSTAT")
	all, _ = stats()
	for _, count := range []string{"handoffs", "waits", "wait-max", "expired", "deadlocks", "stale-tokens"} {
		require.Equal(t, "0", all[count], count)
	}
	require.Equal(t, "2", all["held"], "what is, stays")
}

// TestLockStatsOfSharedLocks: each who shares a lock holds one, and each lease that ends counts, whether the
// others hold the lock on or not.
func TestLockStatsOfSharedLocks(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	c := client(t, startWith(t, Options{Clock: clock}, nil))
	figures := func() string {
		m := entries(t, c.Do("LOCK.STATS"))
		return m["held"].String() + " " + m["expired"].String()
	}
	c.Do("LOCK", "alone", "a", "PX", "60000")
	for i, owner := range []string{"a", "b", "c", "d"} {
		c.Do("LOCK", "k", owner, "SHARED", "PX", strconv.Itoa(1000*min(i+1, 3)))
		require.Equal(t, strconv.Itoa(2+i)+" 0", figures())
	}
	c.Do("HSET", "hash", "f", "1", "g", "2")
	c.Do("HPEXPIRE", "hash", "1000", "FIELDS", "2", "f", "g")
	require.Equal(t, "5 0", figures(), "what is no lock does not count")
	clock.Advance(time.Second)
	require.Equal(t, "4 1", figures())
	c.Do("UNLOCK", "k", "b")
	require.Equal(t, "3 1", figures())
	c.Do("RENAME", "k", "j")
	require.Equal(t, "3 1", figures())
	c.Do("COPY", "j", "l")
	require.Equal(t, "5 1", figures())
	c.Do("LOCK.FORCE", "l")
	require.Equal(t, "3 1", figures())
	clock.Advance(2 * time.Second)
	require.Equal(t, "1 3", figures())
	c.Do("LOCK", "k", "a", "SHARED")
	c.Do("LOCK", "k", "b", "SHARED")
	c.Do("FLUSHALL")
	require.Equal(t, "0 3", figures())
}
