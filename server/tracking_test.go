package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/server/tracking"
	"lockserver/tests/testkit"
)

// check fails unless the tables agree with each other, and with the sessions.
func (t *trackers) check(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, t.Check())
	for tr := range t.Trackers() {
		require.Same(tb, tr, tr.Of.tracker)
	}
}

// checkTracking fails unless soon no client tracks and nothing is left behind.
func checkTracking(t testing.TB, srv *instance) {
	t.Helper()
	eventually(t, func() bool {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		return !srv.executor.tracking.InUse()
	}, "there is a tracker")
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	srv.executor.tracking.check(t)
	require.Zero(t, srv.executor.tracking.Keys())
	require.Empty(t, srv.executor.tracking.Prefixes())
	require.False(t, srv.executor.tracking.Sweep(0), "a tracker has left and is not forgotten")
	require.Empty(t, srv.executor.Terminated)
	require.True(t, srv.executor.tracking.Quiet())
}

// follower is a client in version 3 that tracks.
func follower(t testing.TB, dial func() (net.Conn, error), options ...string) *testkit.Client {
	t.Helper()
	c := testkit.Dial(t, dial)
	c.Hello(3)
	require.Equal(t, "+OK", c.Do(append([]string{"CLIENT", "TRACKING", "ON"}, options...)...).String())
	return c
}

func TestTrackingOnEveryTransport(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b := follower(t, dial), follower(t, dial, "BCAST", "PREFIX", "k")
		c := testkit.Dial(t, dial)
		a.Do("MGET", "k1", "k2")
		info := c.Do("INFO").Str
		require.Contains(t, info, "\r\ntracking_clients:2\r\n")
		require.Contains(t, info, "\r\ntracking_total_keys:2\r\ntracking_total_items:2\r\ntracking_total_prefixes:1\r\n")
		require.Contains(t, a.Do("CLIENT", "INFO").Str, " flags=t")
		require.Contains(t, a.Do("CLIENT", "INFO").Str, " redir=0 ")
		require.Contains(t, b.Do("CLIENT", "INFO").Str, " flags=tB")
		require.Contains(t, c.Do("CLIENT", "INFO").Str, " redir=-1 ")

		// The changes of a pipeline are one message to a client that listens to prefixes, and one message a
		// key to a client that has read it.
		c.Pipeline([][]string{{"SET", "k2", "x"}, {"SET", "k1", "x"}, {"SET", "k2", "y"}, {"SET", "other", "x"}})
		require.Equal(t, `>["invalidate" ["k2"]]`, a.Receive().String())
		require.Equal(t, `>["invalidate" ["k1"]]`, a.Receive().String())
		require.Equal(t, `>["invalidate" ["k1" "k2"]]`, b.Receive().String())

		// One's own stand behind the reply of the command that did it.
		replies := a.Pipeline([][]string{{"GET", "k1"}, {"SET", "k1", "z"}, {"GET", "k1"}})
		require.Equal(t, `"x" +OK >["invalidate" ["k1"]]`, fmt.Sprint(replies[0], " ", replies[1], " ", replies[2]))
		require.Equal(t, `"z"`, a.Receive().String())
		require.Equal(t, `>["invalidate" ["k1"]]`, b.Receive().String())
		replies = b.Pipeline([][]string{{"SET", "k3", "z"}, {"GET", "k3"}})
		require.Equal(t, `+OK "z"`, fmt.Sprint(replies[0], " ", replies[1]))
		require.Equal(t, `>["invalidate" ["k3"]]`, b.Receive().String())

		a.Close()
		b.Close()
		checkTracking(t, srv)
		info = c.Do("INFO").Str
		require.Contains(t, info, "\r\ntracking_clients:0\r\n")
		require.Contains(t, info, "\r\ntracking_total_keys:0\r\ntracking_total_items:0\r\ntracking_total_prefixes:0\r\n")
	})
}

func TestTrackingRedirect(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	to, c := client(t, srv), client(t, srv)
	id := to.Do("CLIENT", "ID").String()
	to.Do("SUBSCRIBE", "__redis__:invalidate")
	a := follower(t, srv.Dial, "REDIRECT", id)
	require.Equal(t, id, a.Do("CLIENT", "GETREDIR").String())
	require.Equal(t, `{"flags":~["on"] "redirect":`+id+` "prefixes":[]}`, a.Do("CLIENT", "TRACKINGINFO").String())
	a.Do("GET", "k")
	c.Do("SET", "k", "v")
	require.Equal(t, `["message" "__redis__:invalidate" ["k"]]`, to.Receive().String())
	// A flush is said in the version of who hears it. D59.
	c.Do("FLUSHALL")
	require.Equal(t, `["message" "__redis__:invalidate" $nil]`, to.Receive().String())

	a.Do("MGET", "k", "l")
	to.Close()
	eventually(t, func() bool { return srv.connected() == 2 }, "it goes")
	require.Contains(t, a.Do("CLIENT", "INFO").Str, " flags=t ", "no message was due yet")
	c.Do("MSET", "k", "1", "l", "2")
	for range 2 {
		require.Equal(t, `>["tracking-redir-broken" `+id+`]`, a.Receive().String())
	}
	require.Contains(t, a.Do("CLIENT", "INFO").Str, " flags=tR ")
	require.Contains(t, a.Do("CLIENT", "INFO").Str, " redir="+id+" ")
	require.Equal(t, `{"flags":~["on" "broken_redirect"] "redirect":`+id+` "prefixes":[]}`, a.Do("CLIENT", "TRACKINGINFO").String())
	require.Equal(t, "+OK", a.Do("CLIENT", "TRACKING", "ON").String())
	require.Contains(t, a.Do("CLIENT", "INFO").Str, " flags=t ")
	require.Equal(t, "0", a.Do("CLIENT", "GETREDIR").String())
	a.Do("CLIENT", "TRACKING", "OFF")

	// A message that a command causes for its own client stands behind the reply, too.
	b := client(t, srv)
	b.Hello(3)
	d := follower(t, srv.Dial, "REDIRECT", b.Do("CLIENT", "ID").String())
	d.Do("GET", "k")
	require.Equal(t, "+OK", b.Do("SET", "k", "v").String())
	require.Equal(t, `>["invalidate" ["k"]]`, b.Receive().String())
}

// Prefixes that overlap are refused wherever they stand. D58.
func TestTrackingPrefixesRefused(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	c := client(t, srv)
	require.Equal(t, "-ERR Prefix 'ab' overlaps with another provided prefix 'abc'. Prefixes for a single client must not overlap.",
		c.Do("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "x", "PREFIX", "ab", "PREFIX", "abc").String())
	require.Equal(t, "+PONG", c.Do("PING").String())
	checkTracking(t, srv)
}

// SWAPDB changes keys, so it invalidates all. D57.
func TestTrackingSwap(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	a, c := follower(t, srv.Dial), client(t, srv)
	a.Do("GET", "k")
	c.Do("SWAPDB", "0", "1")
	require.Equal(t, `>["invalidate" nil]`, a.Receive().String())
	require.Equal(t, "+PONG", a.Do("PING").String(), "one message")
}

func TestTrackedLocks(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_700_000_000_000))
	srv := start(t, Options{Clock: clock})
	a, c, d := follower(t, srv.Dial), client(t, srv), client(t, srv)
	invalidated := func(what string) {
		t.Helper()
		require.Equal(t, `>["invalidate" ["k"]]`, a.Receive().String(), what)
		a.Do("EXISTS", "k")
	}
	a.Do("LOCK.INFO", "k")
	token := c.Do("LOCK", "k", "c", "PX", "1000").String()
	invalidated("it is taken")
	c.Do("LOCK", "k", "c", "PX", "1000")
	invalidated("and again")
	c.Do("RENEW", "k", "c", "PX", "2000")
	invalidated("it is renewed")
	d.Do("LOCK", "k", "d")
	require.Equal(t, "$nil", c.Do("GUARD", "k", token, "GET", "k2").String())
	require.Equal(t, "+PONG", a.Do("PING").String(), "none of that changes the lock")
	c.Do("UNLOCK", "k", "c")
	invalidated("it is released once")
	clock.Advance(2 * time.Second)
	invalidated("its lease ends")
	c.Do("LOCK", "k", "c")
	invalidated("it is taken for the watchdog")
	clock.Advance(10 * time.Second)
	invalidated("the server renews it")
	d.Send("LOCK", "k", "d", "WAIT", "0")
	awaitParked(t, srv, 1)
	c.Do("UNLOCK", "k", "c")
	invalidated("it goes to the next")
	require.Positive(t, d.Receive().Int)
	require.Equal(t, "+PONG", a.Do("PING").String(), "release and grant are one change")
}

// A key that is evicted for memory is no longer what was read, whichever client caused that.
func TestTrackedEviction(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	a := follower(t, srv.Dial, "NOLOOP")
	a.Do("SET", "k", strings.Repeat("v", 1000))
	a.Do("GET", "k")
	require.Equal(t, "+OK", a.Do("CONFIG", "SET", "maxmemory", "500", "maxmemory-policy", "allkeys-random").String())
	require.Equal(t, `>["invalidate" ["k"]]`, a.Receive().String())
	require.Equal(t, "nil", a.Do("GET", "k").String())
}

// The reads of a guarded command count as reads.
func TestTrackedGuard(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{})
	a, c := follower(t, srv.Dial), client(t, srv)
	token := a.Do("LOCK", "lock", "a").String()
	require.Equal(t, "nil", a.Do("GUARD", "lock", token, "GET", "k").String())
	c.Do("SET", "k", "v")
	require.Equal(t, `>["invalidate" ["k"]]`, a.Receive().String())
}

// A command that waits reads when it begins and each time that it is tried; what CLIENT CACHING said holds
// until it has been answered.
func TestTrackedWait(t *testing.T) {
	t.Parallel()
	for _, options := range [][]string{nil, {"OPTIN"}, {"OPTOUT"}} {
		srv := start(t, Options{})
		a, c := follower(t, srv.Dial, options...), client(t, srv)
		if options != nil && options[0] == "OPTIN" {
			a.Do("CLIENT", "CACHING", "YES")
		}
		a.Send("XREAD", "BLOCK", "0", "STREAMS", "x", "5-5")
		awaitParked(t, srv, 1)
		for _, id := range []string{"1-1", "1-2", "6-1"} { // only the last is what it waits for
			c.Do("XADD", "x", id, "f", "v")
			require.Equal(t, `>["invalidate" ["x"]]`, a.Receive().String())
		}
		require.Equal(t, `{"x":[["6-1" ["f" "v"]]]}`, a.Receive().String())
		c.Do("XADD", "x", "6-2", "f", "v")
		require.Equal(t, `>["invalidate" ["x"]]`, a.Receive().String())
		c.Do("XADD", "x", "6-3", "f", "v")
		require.Equal(t, "+PONG", a.Do("PING").String(), "it has read the key once since")

		// A command that takes an element does not read it.
		a.Send("BLPOP", "l", "0")
		awaitParked(t, srv, 1)
		c.Do("RPUSH", "l", "1", "2")
		require.Equal(t, `["l" "1"]`, a.Receive().String())
		c.Do("RPUSH", "l", "3")
		require.Equal(t, "+PONG", a.Do("PING").String())

		if options != nil { // the word is spent
			a.Do("GET", "k")
			c.Do("SET", "k", "v")
			heard := options[0] == "OPTOUT"
			require.Equal(t, heard, a.Do("PING").String() != "+PONG")
		}
	}
}

func TestTrackingTableMaxKeys(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_700_000_000_000))
	srv := startWith(t, Options{Seed: 7, Clock: clock}, func(c *config.Config) { c.TrackingTableMaxKeys = 10 })
	a, c := follower(t, srv.Dial, "NOLOOP"), client(t, srv)
	invalidated := map[string]bool{}
	hear := func(n int) {
		t.Helper()
		for range n {
			m := a.Receive()
			require.Equal(t, "invalidate", m.Elems[0].Str)
			require.Len(t, m.Elems[1].Elems, 1)
			key := m.Elems[1].Elems[0].Str
			require.False(t, invalidated[key], "%s was reported twice", key)
			invalidated[key] = true
		}
	}
	size := func() int {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		srv.executor.tracking.check(t)
		return srv.executor.tracking.Keys()
	}
	for i := range 100 {
		a.Do("GET", "k"+strconv.Itoa(i))
		if i >= 10 {
			hear(1)
		}
		require.Equal(t, min(i+1, 10), size())
	}
	args := []string{"MGET"}
	for i := range 500 {
		args = append(args, "m"+strconv.Itoa(i))
	}
	a.Do(args...)
	hear(500)
	require.Equal(t, 10, size())

	// A bound that is lowered is reached bit by bit.
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "tracking-table-max-keys", "0").String())
	args = args[:1]
	for i := range 500 {
		args = append(args, "n"+strconv.Itoa(i))
	}
	a.Do(args...)
	require.Equal(t, 510, size())
	require.Equal(t, "+OK", c.Do("CONFIG", "SET", "tracking-table-max-keys", "100").String())
	for before := size(); before > 100; {
		clock.Advance(time.Millisecond)
		after := size()
		require.Equal(t, max(100, before-tracking.SpareEvictions), after)
		hear(before - after)
		before = after
	}
	a.Close()
	checkTracking(t, srv)
}

// The many keys of a client that leaves are forgotten bit by bit. D56.
func TestTrackingLeave(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_700_000_000_000))
	srv := start(t, Options{Clock: clock})
	a, b, c := follower(t, srv.Dial), follower(t, srv.Dial), client(t, srv)
	args := []string{"MGET"}
	for i := range 3 * tracking.SweepMost {
		args = append(args, strconv.Itoa(i))
	}
	a.Do(args...)
	b.Do("GET", "0")
	items := func() int {
		srv.executor.Mu.Lock()
		defer srv.executor.Mu.Unlock()
		srv.executor.tracking.check(t)
		return srv.executor.tracking.Readings()
	}
	require.Equal(t, 3*tracking.SweepMost+1, items())
	a.Do("CLIENT", "TRACKING", "OFF")
	require.Equal(t, 3*tracking.SweepMost+1, items(), "it may go on")
	c.Do("SET", "1", "v")
	a.Do("CLIENT", "TRACKING", "ON")
	require.Equal(t, 3*tracking.SweepMost, items())
	c.Do("SET", "2", "v")
	require.Equal(t, `>["invalidate" ["2"]]`, a.Receive().String())
	a.Close()
	eventually(t, func() bool { return items() == 2*tracking.SweepMost-1 }, "it goes")
	clock.Advance(time.Millisecond)
	require.Equal(t, tracking.SweepMost-1, items())
	for i := range 3 * tracking.SweepMost {
		c.Do("SET", strconv.Itoa(i), "v")
	}
	require.Equal(t, `>["invalidate" ["0"]]`, b.Receive().String())
	require.Zero(t, items())
	clock.Advance(time.Millisecond)
	b.Close()
	checkTracking(t, srv)
}

// A client that tracks and does not read is closed.
func TestTrackingOutputLimit(t *testing.T) {
	t.Parallel()
	srv := limitedOutput(t, nil, config.OutputLimit{HardBytes: 100_000})
	follower(t, srv.Dial, "BCAST")
	c := client(t, srv)
	key := strings.Repeat("k", 30_000)
	for i := range 4 {
		require.Equal(t, "+OK", c.Do("SET", key+strconv.Itoa(i), "v").String())
	}
	eventually(t, func() bool { return srv.connected() == 1 }, "it is closed")
	require.Equal(t, "+PONG", c.Do("PING").String())
	checkTracking(t, srv)
}

// TestTrackingModel compares the invalidations that clients get with a model, over random reads and changes.
func TestTrackingModel(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	srv := start(t, Options{})
	c := client(t, srv)
	const trackers, keys = 4, 6
	followers := make([]*testkit.Client, trackers)
	reads := make([]map[string]bool, trackers)
	for i := range followers {
		followers[i], reads[i] = follower(t, srv.Dial), map[string]bool{}
	}
	for range 2000 {
		i, key := r.IntN(trackers), "k"+strconv.Itoa(r.IntN(keys))
		switch n := r.IntN(100); {
		case n < 60:
			followers[i].Do("GET", key)
			reads[i][key] = true
		case n < 90:
			c.Do("SET", key, "v")
			for j := range followers {
				if reads[j][key] {
					require.Equal(t, `>["invalidate" ["`+key+`"]]`, followers[j].Receive().String())
					delete(reads[j], key)
				}
			}
		case n < 95:
			followers[i].Do("CLIENT", "TRACKING", "OFF")
			followers[i].Do("CLIENT", "TRACKING", "ON") // what it has read stays
		case n < 98:
			followers[i].Close()
			followers[i] = follower(t, srv.Dial)
			clear(reads[i])
		default:
			c.Do("FLUSHDB")
			for j := range followers {
				require.Equal(t, 2, len(followers[j].Receive().Elems))
				clear(reads[j])
			}
		}
		srv.executor.Mu.Lock()
		srv.executor.tracking.check(t)
		srv.executor.Mu.Unlock()
	}
	for _, f := range followers {
		require.Equal(t, "+PONG", f.Do("PING").String(), "no other message came")
		f.Close()
	}
	checkTracking(t, srv)
}

// If no client tracks, there is no cost: the store need not even report changes.
func TestTrackingIdle(t *testing.T) {
	srv := start(t, Options{})
	a := follower(t, srv.Dial)
	a.Do("GET", "k")
	a.Do("CLIENT", "TRACKING", "OFF")
	client(t, srv).Do("SET", "k", "v")
	checkTracking(t, srv)
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	require.False(t, srv.executor.tracking.InUse())
	key := []byte("k")
	require.Zero(t, testing.AllocsPerRun(100, func() { observer{&srv.executor}.KeyChanged(0, key) }))
}
