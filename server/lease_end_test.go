package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLeasesNeverEndEarly: a lease that begins within a millisecond lasts at least as long as was
// said, and a millisecond longer at most.
func TestLeasesNeverEndEarly(t *testing.T) {
	const lease = 12 * time.Millisecond
	for _, c := range []struct{ name, take, free string }{
		{"LOCK", "LOCK k alice PX 12", "LOCK k bob"},
		{"a reader", "LOCK k alice PX 12 SHARED", "LOCK k bob"},
		{"MLOCK", "MLOCK 2 k j alice PX 12", "LOCK j bob"},
		{"after a wait", "LOCK k alice PX 12 WAIT 1000", "LOCK k bob"},
		{"RENEW", "LOCK k alice PX 1000; RENEW k alice PX 12", "LOCK k bob"},
		{"RENEW of a reader", "LOCK k alice PX 1000 SHARED; RENEW k alice PX 12", "LOCK k bob"},
		{"a hold", "SECKILL.CREATE v STOCK 1 HOLD 12; SECKILL v ann o1", "SECKILL v ben o2"},
	} {
		for _, into := range []time.Duration{0, time.Microsecond, 630 * time.Microsecond, 999 * time.Microsecond} {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000)) // it begins at a whole millisecond in any case
			clock.Advance(into)
			srv := startWith(t, Options{Clock: clock}, nil)
			holder, other := client(t, srv), client(t, srv)
			for line := range strings.SplitSeq(c.take, "; ") {
				require.False(t, holder.Do(strings.Fields(line)...).IsError(), line)
			}
			got := func() bool {
				r := other.Do(strings.Fields(c.free)...)
				require.False(t, r.IsError(), r.String())
				return r.String() != "$nil" && r.String() != "1"
			}
			clock.Advance(lease - time.Microsecond)
			require.False(t, got(), "%s: it ended early, begun %s into the millisecond", c.name, into)
			clock.Advance(time.Millisecond)
			eventually(t, got, "%s: it ends", c.name)
		}
	}
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	clock.Advance(999 * time.Microsecond)
	srv := startWith(t, Options{Clock: clock}, nil)
	c := client(t, srv)
	c.Do("SET", "k", "v", "PX", "12")
	require.EqualValues(t, 12, c.Do("PTTL", "k").Int, "Redis' own commands are as in Redis")
	require.EqualValues(t, 1_750_000_000_012, c.Do("PEXPIRETIME", "k").Int)
}

// parts are where in a millisecond something begins.
var parts = []time.Duration{0, time.Microsecond, 630 * time.Microsecond, 999 * time.Microsecond}

// TestDeadlinesNeverEndEarly: a key or a field lives for the given duration, and a millisecond longer at
// most. With a given time it lives through that millisecond.
func TestDeadlinesNeverEndEarly(t *testing.T) {
	const life = 12 * time.Millisecond
	for _, c := range []struct{ give, look string }{
		{"SET k v PX 12", "EXISTS k"},
		{"SET k v NX PX 12", "EXISTS k"},
		{"PSETEX k 12 v", "EXISTS k"},
		{"SET k v; PEXPIRE k 12", "EXISTS k"},
		{"SET k v; GETEX k PX 12", "EXISTS k"},
		{"SET k v; EVAL return(redis.call('pexpire',KEYS[1],12)) 1 k", "EXISTS k"},
		{"SET k v PXAT 1750000000012", "EXISTS k"},
		{"SET k v; PEXPIREAT k 1750000000012", "EXISTS k"},
		{"HSET k f v; HPEXPIRE k 12 FIELDS 1 f", "HEXISTS k f"},
		{"HSET k f v; HPEXPIREAT k 1750000000012 FIELDS 1 f", "HEXISTS k f"},
		{"HSETEX k PX 12 FIELDS 1 f v", "HEXISTS k f"},
		{"HSET k f v; HGETEX k PX 12 FIELDS 1 f", "HEXISTS k f"},
		{"LOCK k a PX 60000; PEXPIRE k 12", "EXISTS k"},
		{"LOCK k a PX 60000 SHARED; LOCK k b PX 60000 SHARED; HPEXPIRE k 12 FIELDS 1 a", "HEXISTS k a"},
	} {
		for _, into := range parts {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			clock.Advance(into)
			cl := client(t, startWith(t, Options{Clock: clock}, nil))
			for line := range strings.SplitSeq(c.give, "; ") {
				require.False(t, cl.Do(strings.Fields(line)...).IsError(), line)
			}
			clock.Advance(life - time.Microsecond)
			require.EqualValues(t, 1, cl.Do(strings.Fields(c.look)...).Int, "%s, begun %s into the millisecond", c.give, into)
			clock.Advance(time.Millisecond + time.Microsecond)
			require.EqualValues(t, 0, cl.Do(strings.Fields(c.look)...).Int, "%s, begun %s into the millisecond", c.give, into)
		}
	}
}

// TestALeaseOfAMillisecond: the shortest lease lasts for its time, also if it begins with a millisecond.
func TestALeaseOfAMillisecond(t *testing.T) {
	for _, give := range []string{"LOCK k a PX 1", "LOCK k a SHARED PX 1", "SEM.ACQUIRE k a LIMIT 1 PX 1", "LOCK k a PX 60000; RENEW k a PX 1",
		"LOCK k a PX 60000; PEXPIRE k 1", "LOCK k a PX 60000 SHARED; HPEXPIRE k 1 FIELDS 1 a"} {
		for _, into := range parts {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			clock.Advance(into)
			c := client(t, startWith(t, Options{Clock: clock}, nil))
			for line := range strings.SplitSeq(give, "; ") {
				require.False(t, c.Do(strings.Fields(line)...).IsError(), line)
			}
			clock.Advance(time.Millisecond - time.Microsecond)
			require.EqualValues(t, 1, c.Do("HEXISTS", "k", "a").Int, "%s, begun %s into the millisecond", give, into)
			clock.Advance(time.Millisecond + time.Microsecond)
			require.EqualValues(t, 0, c.Do("HEXISTS", "k", "a").Int, "%s, begun %s into the millisecond", give, into)
		}
	}
}

// TestWaitsNeverEndEarly: a wait lasts as long as was said, and a millisecond longer at most.
func TestWaitsNeverEndEarly(t *testing.T) {
	for _, call := range []string{"BLPOP l 0.012", "BLMOVE l m LEFT RIGHT 0.012", "BZPOPMIN z 0.012", "XREAD BLOCK 12 STREAMS s $", "WAIT 1 12",
		"LOCK k b WAIT 12", "LIMIT.TAKE r 1 1 60000 WAIT 12", "LATCH.WAIT c WAIT 12", "SEM.ACQUIRE p b LIMIT 1 WAIT 12"} {
		for _, into := range parts {
			clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
			clock.Advance(into)
			srv := startWith(t, Options{Clock: clock}, nil)
			other, waits := client(t, srv), client(t, srv)
			for _, line := range []string{"LOCK k a PX 60000", "LIMIT.TAKE r 1 1 60000", "LATCH.SET c 1", "SEM.ACQUIRE p a LIMIT 1 PX 60000"} {
				require.False(t, other.Do(strings.Fields(line)...).IsError(), line)
			}
			waits.Send(strings.Fields(call)...)
			eventually(t, func() bool { return infoNumber(t, other, "blocked_clients") == 1 }, "%s waits", call)
			clock.Advance(12*time.Millisecond - time.Microsecond)
			require.EqualValues(t, 1, infoNumber(t, other, "blocked_clients"), "%s, begun %s into the millisecond", call, into)
			clock.Advance(time.Millisecond)
			require.False(t, waits.Receive().IsError(), call)
		}
	}
}

// TestNoLeaseIsShownLonger: no reply shows more of a lease than was asked for, and none that has just begun
// shows less.
func TestNoLeaseIsShownLonger(t *testing.T) {
	for _, into := range parts {
		clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
		clock.Advance(into)
		c := client(t, startWith(t, Options{Clock: clock}, nil))
		last := int64(1_750_000_030_000) // the last millisecond of the lease
		if into == 0 {
			last--
		}
		for _, call := range []string{"LOCK k a PX 30000", "LOCK k a", "RENEW k a PX 30000", "PEXPIRE k 30000"} {
			require.False(t, c.Do(strings.Fields(call)...).IsError(), call)
			require.EqualValues(t, 30000, c.Do("PTTL", "k").Int, "%s, %s", call, into)
			require.Equal(t, last, c.Do("PEXPIRETIME", "k").Int, "%s, %s", call, into)
			c.Do("PEXPIREAT", "k", fmt.Sprint(last))
			require.Equal(t, last, c.Do("PEXPIRETIME", "k").Int, "%s, %s", call, into)
			require.Contains(t, c.Do("LOCK.INFO", "k").String(), `"ttl" 30000`, "%s, %s", call, into)
		}
		for _, call := range []string{"LOCK s a SHARED PX 30000", "SEM.ACQUIRE p a LIMIT 2 PX 30000"} {
			require.False(t, c.Do(strings.Fields(call)...).IsError(), call)
			key := strings.Fields(call)[1]
			require.EqualValues(t, 30000, c.Do("PTTL", key).Int, "%s, %s", call, into)
			require.EqualValues(t, 30000, c.Do("HPTTL", key, "FIELDS", "1", "a").Elems[0].Int, "%s, %s", call, into)
			require.Equal(t, 2, strings.Count(c.Do("LOCK.INFO", key).String(), `"ttl" 30000`), "%s, %s", call, into)
		}
		c.Do("SET", "v", "x", "PX", "30000")
		require.EqualValues(t, 30000, c.Do("PTTL", "v").Int)
		for _, call := range []string{"HSET r mode read u:1 1", "SET {r}:u:1:rwlock_timeout:1 1 PX 30000", "PEXPIRE r 30000", "LOCK r a SHARED PX 20000"} { // beside Redisson's reader
			require.False(t, c.Do(strings.Fields(call)...).IsError(), call)
			require.LessOrEqual(t, c.Do("PTTL", "r").Int, int64(30000), "%s, %s", call, into)
			require.NotContains(t, c.Do("LOCK.INFO", "r").String(), `"ttl" 30001`, "%s, %s", call, into)
		}
	}
}
