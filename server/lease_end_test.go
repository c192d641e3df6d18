package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLeasesNeverEndEarly: issue 35. A lease that begins within a millisecond lasts at least as long as was
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
