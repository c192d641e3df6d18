package server

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

// departing is a server with a clock that stands still, and a session with many locks that the server renews.
type departing struct {
	manyWaits
	srv   *instance
	locks int
}

const departingOwner = "owner of many:"

// newDeparting makes a session acquire a number of locks, shared or not.
func newDeparting(t *testing.T, locks int, shared bool, before ...[]string) *departing {
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := start(t, Options{Clock: clock})
	d := &departing{manyWaits: manyWaits{executor: &srv.executor, clock: clock}, srv: srv, locks: locks}
	d.Waits.LockEvents.Muted = true
	addr := &net.UnixAddr{Net: "unix"}
	s, refused := d.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
	require.NotNil(t, s, refused)
	d.s = s
	for _, words := range before {
		s.Feed(appendCommand(nil, words...), &d.scratch, nil)
	}
	for i := range locks {
		words := []string{"LOCK", fmt.Sprint("k", i), fmt.Sprint(departingOwner, i)}
		if shared {
			words = append(words, "SHARED")
		}
		s.Feed(appendCommand(nil, words...), &d.scratch, nil)
	}
	require.Equal(t, locks, d.Waits.Watchdog.Renewing())
	return d
}

// A session with many locks ends. That is not done at once, also if connections are attached: some renewals
// end in each slice. No more is left behind than the locks, which go with their leases.
func TestDepartureInSlices(t *testing.T) {
	t.Parallel()
	attach := []string{"LOCK.ATTACH", "PREFIX", departingOwner}
	for _, tt := range []struct {
		name   string
		shared bool
		before [][]string
		beside []string // is attached by another client
	}{
		{name: "not attached"},
		{name: "shared locks", shared: true},
		{name: "attached to the prefix", before: [][]string{attach}},
		{name: "attached to an owner and the prefix", before: [][]string{attach, {"LOCK.ATTACH", departingOwner + "7"}}},
		{name: "beside another prefix", before: [][]string{attach}, beside: []string{"LOCK.ATTACH", "PREFIX", "another program"}},
		{name: "beside another owner", before: [][]string{attach}, beside: []string{"LOCK.ATTACH", "another owner"}},
		{name: "shared locks beside another owner", shared: true, before: [][]string{attach}, beside: []string{"LOCK.ATTACH", "another owner"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDeparting(t, testkit.Steps(5_000, 100_000), tt.shared, tt.before...)
			c := client(t, d.srv)
			if tt.beside != nil {
				require.EqualValues(t, 0, c.Do(tt.beside...).Int)
			}
			d.s.Close()
			left := 0
			d.look(func() { left = d.Waits.Watchdog.Renewing() })
			require.GreaterOrEqual(t, left, d.locks-wait.DueBudget)
			require.Contains(t, c.Do("LOCK.INFO", "k0").String(), `"watchdog" 0`, "it is renewed no more")
			ended, longest := d.dueInSlices(d.Waits.Watchdog.Renewing)
			t.Logf("the longest slice took %v for %d renewals", longest, ended)
			require.LessOrEqual(t, ended, wait.DueBudget)
			d.look(func() {
				require.Zero(t, d.Waits.Watchdog.Renewing())
				require.False(t, d.Waits.Watchdog.Attached.Forget(0))
				require.Equal(t, d.Waits.Watchdog.Attached.HasPrefixes(), d.Waits.Watchdog.Attached.Owner([]byte(departingOwner+"3")) != nil)
			})
			require.EqualValues(t, d.locks, c.Do("DBSIZE").Int)
			d.clock.Advance(31 * time.Second)
			require.Zero(t, c.Do("DBSIZE").Int)
			d.look(func() { require.Nil(t, d.Waits.Watchdog.Attached.Owner([]byte(departingOwner+"3"))) })
		})
	}
}

// A session has very many locks and ends. Another one is attached to the owners before, or attaches right
// then. It keeps all of them. At its own end all leases end.
func TestDepartureToAnAttachedSession(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("shared %t late %t", shared, late), func(t *testing.T) {
				d := newDeparting(t, 3*wait.DueBudget, shared)
				keeper, c := client(t, d.srv), client(t, d.srv)
				attach := func() { require.EqualValues(t, d.locks, keeper.Do("LOCK.ATTACH", "PREFIX", departingOwner).Int) }
				d.clock.Set(time.UnixMicro(d.clock.NowUS()).Add(5 * time.Second))
				if !late {
					attach()
				}
				d.s.Close()
				if late {
					attach()
					for _, key := range []string{"k0", fmt.Sprint("k", d.locks-1)} {
						require.EqualValues(t, 30_000, c.Do("PTTL", key).Int, "a lease begins anew")
					}
				}
				d.clock.Advance(10 * time.Minute)
				require.EqualValues(t, d.locks, c.Do("DBSIZE").Int)
				d.look(func() { require.Equal(t, d.locks, d.Waits.Watchdog.Renewing()) })
				keeper.Close()
				eventually(t, func() bool { return d.srv.connected() == 1 }, "it is gone")
				d.clock.Advance(31 * time.Second)
				require.Zero(t, c.Do("DBSIZE").Int)
				d.look(func() { require.Zero(t, d.Waits.Watchdog.Renewing()) })
			})
		}
	}
}

// A client that is taken for dead loses very many locks one lease after its last sign of life, all of them at
// the same time.
func TestDepartureOfALostClient(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared ", shared), func(t *testing.T) {
			d := newDeparting(t, 3*wait.DueBudget, shared)
			c := client(t, d.srv)
			d.look(func() {
				p := d.s.Liveness
				p.AskedMS, p.SilentMS = d.Store.NowMS(), 10_000
				d.Waits.Lose(&d.s.Party)
			})
			d.dueInSlices(d.Waits.Watchdog.Renewing)
			for i := range d.locks {
				require.EqualValues(t, 20_000, c.Do("PTTL", fmt.Sprint("k", i)).Int, i)
			}
		})
	}
}
