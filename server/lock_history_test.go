package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

const historyStartMS = 1_750_000_000_000

// eventLines are the events of LOCK.HISTORY in short: time since the start, event, key, owner, and more.
func eventLines(t *testing.T, v resp.Value) (lines []string) {
	t.Helper()
	for _, e := range entries(t, v)["events"].Elems {
		f := entries(t, e)
		require.Len(t, f, 13)
		line := fmt.Sprintf("%d %s %s %s", f["time"].Int-historyStartMS, f["event"].Str, f["key"].Str, f["owner"].Str)
		if reason := f["reason"]; !reason.IsNull() {
			line += " " + reason.Str
		}
		if mode := f["mode"].Str; mode != "exclusive" && mode != "" {
			line += " " + mode
		}
		if permits := f["permits"]; !permits.IsNull() {
			line += " permits=" + permits.String()
		}
		if trace := f["trace"]; !trace.IsNull() {
			line += " trace=" + trace.Str
		}
		for _, name := range []string{"held", "waited"} {
			if f[name].IsNull() {
				continue
			}
			ms, err := strconv.ParseFloat(strings.Trim(f[name].String(), `"`), 64)
			require.NoError(t, err)
			if ms >= 0.5 { // tokens are some microseconds ahead of the clock
				line += fmt.Sprintf(" %s=%.0f", name, ms)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// historyOf returns the history of a key.
func historyOf(t *testing.T, c *testkit.Client, words ...string) []string {
	t.Helper()
	v := c.Do(append([]string{"LOCK.HISTORY", "COUNT", "10000"}, words...)...)
	require.False(t, v.IsError(), v)
	return eventLines(t, v)
}

// TestLockHistory: each kind of event, as LOCK.HISTORY tells it.
func TestLockHistory(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b, asks := client(t, srv), client(t, srv), client(t, srv)
	wait := func(ms int) { clock.Advance(time.Duration(ms) * time.Millisecond) }

	a.Do("LOCK", "k", "a", "PX", "1000")
	wait(10)
	a.Do("LOCK", "k", "a", "PX", "1000")
	a.Do("LOCK", "k", "a", "PX", "1000", "ONCE")
	a.Do("RENEW", "k", "a", "PX", "1000")
	b.Do("LOCK", "k", "b")
	b.Send("LOCK", "k", "b", "PX", "500", "WAIT", "5000")
	awaitParked(t, srv, 1)
	wait(10)
	a.Do("UNLOCK", "k", "a")
	a.Do("UNLOCK", "k", "a")
	b.Receive()
	wait(500)
	b.Do("LOCK", "k", "b")
	a.Send("LOCK", "k", "a", "WAIT", "100")
	awaitParked(t, srv, 1)
	wait(100)
	a.Receive()
	a.Do("LOCK.FORCE", "k")
	a.Do("LOCK", "k", "a")
	wait(5)
	b.Do("DEL", "k")
	a.Do("LOCK", "k", "a")
	b.Do("SET", "k", "x")
	require.Equal(t, []string{
		"0 granted k a", "10 granted k a again", "10 renewed-by-hand k a once", "10 renewed-by-hand k a", "10 refused k b held",
		"10 queued k b", "20 released k a partly", "20 released k a held=20", "20 granted k b waited=10", "520 expired k b held=500", "520 granted k b",
		"520 queued k a", "620 refused k a timeout waited=100", "620 forced k b held=100", "620 granted k a", "625 lost k a deleted held=5",
		"625 granted k a", "625 lost k a overwritten",
	}, historyOf(t, asks, "KEY", "k"))

	require.Equal(t, []string{"520 queued k a", "620 refused k a timeout waited=100"},
		historyOf(t, asks, "OWNER", "a", "SINCE", fmt.Sprint(historyStartMS+500), "UNTIL", fmt.Sprint(historyStartMS+620))[:2])
	require.Equal(t, []string{"625 granted k a", "625 lost k a overwritten"}, historyOf(t, asks)[16:])
	latest := asks.Do("LOCK.HISTORY", "COUNT", "2")
	require.Equal(t, []string{"625 granted k a", "625 lost k a overwritten"}, eventLines(t, latest))
	require.EqualValues(t, 18, entries(t, latest)["last-id"].Int)
	require.EqualValues(t, historyStartMS, entries(t, latest)["known-since"].Int)
	require.Equal(t, "start", entries(t, latest)["reason"].Str)
	require.Equal(t, []string{"0 granted k a", "10 granted k a again"}, eventLines(t, asks.Do("LOCK.HISTORY", "AFTER", "0", "COUNT", "2")))
	require.Empty(t, eventLines(t, asks.Do("LOCK.HISTORY", "AFTER", "18")))
	first := entries(t, asks.Do("LOCK.HISTORY", "AFTER", "0", "COUNT", "1"))["events"].Elems[0]
	who := entries(t, entries(t, first)["client"])
	require.Equal(t, a.Do("CLIENT", "ID").Int, who["id"].Int)
	for _, wrong := range []string{"COUNT 0", "COUNT x", "SINCE -1", "UNTIL 9999999999999999", "AFTER -1", "KEY", "WHAT"} {
		require.True(t, asks.Do(append([]string{"LOCK.HISTORY"}, strings.Fields(wrong)...)...).IsError(), wrong)
	}
}

// TestHistoryOfARefusedMLOCK: the refusal is an event of each of its keys, also of the free ones.
func TestHistoryOfARefusedMLOCK(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{Clock: NewManualClock(time.UnixMilli(historyStartMS))}, nil)
	c := client(t, srv)
	c.Do("LOCK", "busy", "a")
	require.True(t, c.Do("MLOCK", "3", "free", "busy", "other", "b").IsNull())
	require.True(t, c.Do("MLOCK", "2", "free", "busy", "b", "SHARED").IsNull())
	require.Equal(t, []string{"0 granted busy a", "0 refused busy b held", "0 refused busy b held shared"}, historyOf(t, c, "KEY", "busy"))
	require.Equal(t, []string{"0 refused free b held", "0 refused free b held shared"}, historyOf(t, c, "KEY", "free"))
	require.Equal(t, []string{"0 refused other b held"}, historyOf(t, c, "KEY", "other"))
}

// TestInternalFields: the fields of a lock's hash that are no owners are shown as such nowhere.
func TestInternalFields(t *testing.T) {
	t.Parallel()
	for _, again := range [][]string{{"RENEW", "k", "alice", "PX", "60000"}, {"LOCK", "k", "alice", "PX", "60000"}, {"LOCK", "k", "alice", "PX", "60000", "ONCE"},
		{"LOCK", "k", "alice", "SHARED", "PX", "60000"}, {"HDEL", "k", "$watchdog"}, {"HDEL", "k", "$mode"}, {"HDEL", "k", "$limit"}} {
		for _, begin := range [][]string{{"LOCK", "k", "alice"}, {"LOCK", "k", "alice", "SHARED"}, {"SEM.ACQUIRE", "k", "alice", "LIMIT", "3"}} {
			srv := startWith(t, Options{Clock: NewManualClock(time.UnixMilli(historyStartMS))}, nil)
			c := client(t, srv)
			c.Do(begin...)
			held := c.Do("LOCK.LIST").String()
			require.Contains(t, held, "alice")
			c.Do(again...)
			for _, command := range [][]string{{"LOCK.HISTORY"}, {"LOCK.LIST"}, {"LOCK.INFO", "k"}} {
				got := c.Do(command...).String()
				for _, field := range []string{"$watchdog", "$token", "$mode", "$limit", "$readers"} {
					require.NotContains(t, got, field, "%v, %v: %v", begin, again, command)
				}
			}
			require.NotContains(t, strings.Join(historyOf(t, c), ","), "lost", "%v, %v", begin, again)
			require.Contains(t, c.Do("LOCK.STATS").String(), `"lost" ["expired" 0 "forced" 0 "deleted" 0 "overwritten" 0 "unconfirmed" 0]`, "%v, %v", begin, again)
		}
	}
}

// TestLockHistoryOfSharedLocks, of semaphores, of moves, of whole databases, and of waits that end in all
// ways.
func TestLockHistoryOfSharedLocks(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b, asks := client(t, srv), client(t, srv), client(t, srv)
	wait := func(ms int) { clock.Advance(time.Duration(ms) * time.Millisecond) }
	a.Do("LOCK", "k", "a", "SHARED", "PX", "100")
	b.Do("LOCK", "k", "b", "SHARED", "PX", "1000")
	wait(100)
	b.Do("LOCK", "k", "b", "PX", "1000")
	b.Do("UNLOCK", "k", "b")
	b.Do("RENAME", "k", "j")
	wait(7)
	b.Do("UNLOCK", "j", "b")
	require.Equal(t, []string{"0 granted k a shared", "0 granted k b shared", "100 expired k a shared held=100", "100 released k b upgraded shared held=100",
		"100 granted k b upgraded", "100 released k b downgraded", "100 lost k b renamed shared"}, historyOf(t, asks, "KEY", "k"))
	require.Equal(t, []string{"100 granted j b renamed shared", "107 released j b shared held=7"}, historyOf(t, asks, "KEY", "j"))

	a.Do("SEM.ACQUIRE", "s", "a", "LIMIT", "3", "PERMITS", "2", "PX", "60000")
	a.Do("SEM.ACQUIRE", "s", "a", "PX", "60000")
	b.Do("SEM.ACQUIRE", "s", "b")
	b.Send("SEM.ACQUIRE", "s", "b", "PERMITS", "2", "PX", "60000", "WAIT", "0")
	awaitParked(t, srv, 1)
	wait(3)
	a.Do("SEM.RELEASE", "s", "a", "PERMITS", "2")
	b.Receive()
	a.Do("SEM.RENEW", "s", "a", "PX", "60000")
	a.Do("SEM.RELEASE", "s", "a")
	wait(1)
	a.Do("HDEL", "s", "b")
	require.Equal(t, []string{"107 granted s a semaphore permits=2", "107 granted s a again semaphore permits=1", "107 refused s b held semaphore permits=1",
		"107 queued s b semaphore permits=2", "110 released s a partly semaphore permits=2", "110 granted s b semaphore permits=2 waited=3",
		"110 renewed-by-hand s a semaphore", "110 released s a semaphore permits=1 held=3", "111 lost s b deleted semaphore permits=2 held=1"},
		historyOf(t, asks, "KEY", "s"))

	a.Do("MLOCK", "2", "x", "y", "a")
	b.Do("LOCK", "z", "b")
	b.Send("MLOCK", "2", "y", "w", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.Contains(t, a.Do("LOCK", "z", "a", "WAIT", "0").String(), "DEADLOCK")
	a.Do("LOCK.CANCEL", "y", "b")
	b.Receive()
	b.Send("LOCK", "y", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.EqualValues(t, 1, a.Do("CLIENT", "UNBLOCK", fmt.Sprint(idOf(srv, "b"))).Int)
	b.Receive()
	b.Send("LOCK", "y", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	b.Close()
	require.Eventually(t, func() bool { return srv.parked() == 0 }, soon, time.Millisecond)
	a.Do("FLUSHDB")
	require.Equal(t, []string{"111 granted y a", "111 queued y b", "111 refused y b cancelled", "111 queued y b", "111 refused y b unblocked",
		"111 queued y b", "111 refused y b disconnected", "111 lost   flushed"}, historyOf(t, asks, "KEY", "y"))
	require.Contains(t, historyOf(t, asks), "111 deadlock z a")
}

// idOf is the number of the client that waits for an owner.
func idOf(srv *instance, owner string) int64 {
	srv.executor.Mu.Lock()
	defer srv.executor.Mu.Unlock()
	return wait.ParkedOf(srv.executor.Waits.Queues.Owner([]byte(owner)).First()).Party.Number
}

// TestLockHistoryOfNotify: grants that are confirmed, and grants that are not.
func TestLockHistoryOfNotify(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b := client(t, srv), client(t, srv)
	a.Do("LOCK", "k", "a", "PX", "60000")
	require.Equal(t, "QUEUED", b.Do("LOCK", "k", "b", "WAIT", "0", "NOTIFY").Str)
	clock.Advance(4 * time.Millisecond)
	a.Do("UNLOCK", "k", "a")
	clock.Advance(10 * time.Second)
	require.Equal(t, []string{"0 granted k a", "0 queued k b", "4 released k a held=4", "4 granted k b waited=4", "10004 unconfirmed k b",
		"10004 released k b undone held=10000"}, historyOf(t, a, "KEY", "k"))
	token := a.Do("LOCK", "k", "a", "PX", "60000")
	require.Positive(t, token.Int)
	require.Equal(t, "QUEUED", b.Do("LOCK", "k", "c", "WAIT", "0", "NOTIFY").Str)
	a.Do("UNLOCK", "k", "a")
	require.EqualValues(t, 1, b.Do("LOCK.CONFIRM", "k", "c", fmt.Sprint(token.Int+1)).Int)
	require.Equal(t, "10004 confirmed k c", historyOf(t, a, "KEY", "k")[10])
	require.Equal(t, "QUEUED", b.Do("LOCK", "k", "d", "WAIT", "50", "NOTIFY").Str)
	clock.Advance(50 * time.Millisecond)
	require.Equal(t, []string{"10054 refused k d timeout waited=50"}, historyOf(t, a, "OWNER", "d")[1:])
}

// TestLockHistoryRights: a client sees the events of keys that it may read.
func TestLockHistoryRights(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, nil)
	a, u := client(t, srv), client(t, srv)
	a.Do("ACL", "SETUSER", "u", "on", "nopass", "+@all", "~mine:*")
	a.Do("LOCK", "mine:1", "a")
	a.Do("LOCK", "other:1", "a")
	a.Do("UNLOCK", "mine:1", "a")
	a.Do("UNLOCK", "other:1", "a")
	u.Do("AUTH", "u", "x")
	for _, command := range []string{"LOCK.HISTORY", "LOCK.HOT BY grants"} {
		reply := u.Do(strings.Fields(command)...).String()
		require.Contains(t, reply, "mine:1", command)
		require.NotContains(t, reply, "other:1", command)
		require.Contains(t, a.Do(strings.Fields(command)...).String(), "other:1", command)
	}
	a.Do("CONFIG", "SET", "lock-history-bytes", "0")
	reply := entries(t, a.Do("LOCK.HISTORY"))
	require.Equal(t, "off", reply["reason"].Str)
	require.Empty(t, reply["events"].Elems)
	a.Do("CONFIG", "SET", "lock-history-bytes", "1")
	a.Do("LOCK", "mine:2", "a")
	reply = entries(t, a.Do("LOCK.HISTORY"))
	require.Equal(t, "configured", reply["reason"].Str)
	require.Len(t, reply["events"].Elems, 1)
}

// historyRun plays random commands and keeps, by hand, what happened to each key.
type historyRun struct {
	modelRun
	clock  *ManualClock
	nowMS  int64
	keys   [3]historyKey
	events [3][]string
	waits  map[int]*historyWait // by client
}

type historyKey struct {
	owner          string
	holds          int
	sinceMS, endMS int64
}

type historyWait struct {
	key            int
	sinceMS, endMS int64
	lease          int64
}

func (r *historyRun) tell(key int, format string, args ...any) {
	r.events[key] = append(r.events[key], fmt.Sprintf("%d ", r.nowMS)+fmt.Sprintf(format, args...))
}

func suffix(name string, ms int64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf(" %s=%d", name, ms)
}

// hearEnds hears which waits have ended: after something that freed a key, or at the end of their time.
func (r *historyRun) hearEnds() {
	for changed := true; changed; {
		changed = false
		for client, w := range r.waits {
			v, answered := r.hear(client)
			if !answered {
				continue
			}
			delete(r.waits, client)
			changed = true
			owner, waited := fmt.Sprint("o", client), suffix("waited", r.nowMS-w.sinceMS)
			switch {
			case v.IsNull():
				r.tell(w.key, "refused k%d %s timeout%s", w.key, owner, waited)
			case v.IsError():
				r.tell(w.key, "deadlock k%d %s%s", w.key, owner, waited)
			default:
				r.tell(w.key, "granted k%d %s%s", w.key, owner, waited)
				r.keys[w.key] = historyKey{owner, 1, r.nowMS, r.nowMS + w.lease}
			}
		}
	}
}

// pass moves the clock, and stops at each time at which something ends.
func (r *historyRun) pass(ms int64) {
	for until := r.nowMS + ms; ; {
		next := until
		for i := range r.keys {
			if k := &r.keys[i]; k.holds > 0 {
				next = min(next, k.endMS)
			}
		}
		for _, w := range r.waits {
			next = min(next, w.endMS)
		}
		r.clock.Advance(time.Duration(next-r.nowMS) * time.Millisecond)
		r.nowMS = next
		for i := range r.keys {
			if k := &r.keys[i]; k.holds > 0 && k.endMS <= next {
				r.tell(i, "expired k%d %s%s", i, k.owner, suffix("held", next-k.sinceMS))
				*k = historyKey{}
			}
		}
		if r.hearEnds(); next == until {
			return
		}
	}
}

func (r *historyRun) end(i int, what string) {
	k := &r.keys[i]
	r.tell(i, what+suffix("held", r.nowMS-k.sinceMS), i, k.owner)
	*k = historyKey{}
}

// step is one command of a client that does not wait.
func (r *historyRun) step() {
	client, i := r.random.IntN(len(r.sessions)), r.random.IntN(3)
	if r.waits[client] != nil {
		r.pass(10 * r.random.Int64N(4))
		return
	}
	key, owner, k := fmt.Sprint("k", i), fmt.Sprint("o", client), &r.keys[i]
	mine := k.holds > 0 && k.owner == owner
	lease := 10 * (1 + r.random.Int64N(30))
	ask := func(words ...string) resp.Value {
		r.say(client, words...)
		v, answered := r.hear(client)
		require.True(r.t, answered, words)
		return v
	}
	switch n := r.random.IntN(20); {
	case n < 5:
		switch v := ask("LOCK", key, owner, "PX", fmt.Sprint(lease)); {
		case v.IsNull():
			r.tell(i, "refused %s %s held", key, owner)
		case mine:
			r.tell(i, "granted %s %s again", key, owner)
			k.holds, k.endMS = k.holds+1, r.nowMS+lease
		default:
			r.tell(i, "granted %s %s", key, owner)
			*k = historyKey{owner, 1, r.nowMS, r.nowMS + lease}
		}
	case n < 10:
		// No two waits end in one millisecond, and none ends with a lease.
		w := &historyWait{i, r.nowMS, r.nowMS + 1 + 2*int64(client) + 10*r.random.Int64N(30), lease}
		r.say(client, "LOCK", key, owner, "PX", fmt.Sprint(lease), "WAIT", fmt.Sprint(w.endMS-r.nowMS))
		switch v, answered := r.hear(client); {
		case !answered:
			r.tell(i, "queued %s %s", key, owner)
			r.waits[client] = w
		case v.IsError():
			r.tell(i, "deadlock %s %s", key, owner)
		case mine:
			r.tell(i, "granted %s %s again", key, owner)
			k.holds, k.endMS = k.holds+1, r.nowMS+lease
		default:
			r.tell(i, "granted %s %s", key, owner)
			*k = historyKey{owner, 1, r.nowMS, r.nowMS + lease}
		}
	case n < 14:
		if v := ask("UNLOCK", key, owner); !v.IsNull() && v.Int == 1 {
			r.end(i, "released k%d %s")
		} else if !v.IsNull() {
			r.tell(i, "released %s %s partly", key, owner)
			k.holds--
		}
	case n < 16:
		if v := ask("RENEW", key, owner, "PX", fmt.Sprint(lease)); v.Int == 1 {
			r.tell(i, "renewed-by-hand %s %s", key, owner)
			k.endMS = r.nowMS + lease
		}
	case n < 17:
		if ask("LOCK.FORCE", key).Int == 1 {
			r.end(i, "forced k%d %s")
		}
	case n < 18:
		if ask("DEL", key).Int == 1 {
			r.end(i, "lost k%d %s deleted")
		}
	default:
		r.pass(10 * r.random.Int64N(10))
		return
	}
	r.hearEnds()
}

// TestHeldInMicroseconds: a hold's length is measured from its token. Of two grants in one microsecond the
// second has the next token.
func TestHeldInMicroseconds(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	c := client(t, startWith(t, Options{Clock: clock}, nil))
	for _, key := range []string{"k", "l"} {
		c.Do("LOCK", key, "a", "PX", "1000")
	}
	clock.Advance(2 * time.Second)
	for key, held := range map[string]string{"k": "1000", "l": "999.999"} {
		events := entries(t, c.Do("LOCK.HISTORY", "KEY", key))["events"].Elems
		require.Len(t, events, 2)
		expired := entries(t, events[1])
		require.Equal(t, "expired", expired["event"].Str)
		require.Equal(t, held, expired["held"].Str, key)
	}
}

// TestLockHistoryIsTrue: over random histories the server tells of each key exactly what a record by hand
// has.
func TestLockHistoryIsTrue(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	for round := range testkit.Steps(10, 30) {
		clock := NewManualClock(time.UnixMilli(historyStartMS))
		srv := startWith(t, Options{Clock: clock}, nil)
		r := &historyRun{modelRun: modelRun{t: t, srv: srv, random: rand.New(rand.NewPCG(seed, uint64(round)))}, clock: clock, waits: map[int]*historyWait{}}
		for range 5 {
			out := &recorder{}
			s, _ := srv.executor.open(out, transport.Peer{Local: &net.UnixAddr{Net: "unix"}, Remote: &net.UnixAddr{Net: "unix"}})
			require.NotNil(t, s)
			r.sessions, r.outputs = append(r.sessions, s), append(r.outputs, out)
		}
		for range 400 {
			r.step()
		}
		asks := client(t, srv)
		for i := range r.keys {
			got := historyOf(t, asks, "KEY", fmt.Sprint("k", i))
			require.Equal(t, r.events[i], got, "seed %d, round %d, key %d", seed, round, i)
		}
	}
}

// TestOldestWaitOfAClass: each class has the age of its oldest wait. Behind a thousand waits of other
// classes the age of a class is that of the last of these.
func TestOldestWaitOfAClass(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	c := client(t, srv)
	require.Equal(t, "OK", c.Do("CONFIG", "SET", "lock-class", "orders order:* ; mail mail:*").Str)
	oldest := func() map[string]time.Duration {
		m := make(map[string]time.Duration)
		for _, class := range srv.Figures().LockClasses {
			m[class.Name] = time.Duration(class.OldestUS) * time.Microsecond
		}
		return m
	}
	for _, key := range []string{"order:1", "mail:1", "x:1"} {
		c.Do("LOCK", key, "a", "PX", "600000")
	}
	waits := 0
	wait := func(keys ...string) {
		waits++
		c.Do(append(append([]string{"MLOCK", strconv.Itoa(len(keys))}, keys...), fmt.Sprint("b-", waits), "WAIT", "0", "NOTIFY")...)
		clock.Advance(100 * time.Millisecond)
	}
	wait("order:1", "x:1")
	wait("order:1")
	require.Equal(t, map[string]time.Duration{"orders": 200 * time.Millisecond, "mail": 0, "other": 200 * time.Millisecond}, oldest())
	for range 1000 {
		wait("order:1")
	}
	wait("mail:1")
	require.Equal(t, map[string]time.Duration{"orders": 100_300 * time.Millisecond, "mail": 400 * time.Millisecond, "other": 100_300 * time.Millisecond}, oldest())
}

// TestLockClasses: figures by class, and what becomes of them when the classes change.
func TestLockClasses(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b, asks := client(t, srv), client(t, srv), client(t, srv)
	require.Equal(t, "OK", a.Do("CONFIG", "SET", "lock-class", "orders order:* ; mail mail:*").Str)
	class := func(name string) map[string]string {
		m := map[string]string{}
		for k, v := range entries(t, entries(t, entries(t, asks.Do("LOCK.STATS"))["classes"])[name]) {
			m[k] = strings.Trim(v.String(), `"`)
		}
		return m
	}
	a.Do("LOCK", "order:1", "a", "PX", "1000")
	b.Do("LOCK", "order:1", "b")
	b.Send("LOCK", "order:1", "b", "PX", "60000", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, "1", class("orders")["waiting"])
	require.Equal(t, "0", class("mail")["waiting"])
	clock.Advance(time.Second)
	b.Receive()
	a.Do("LOCK", "mail:1", "a")
	require.Equal(t, "mail", lockInfoOf(t, asks, "mail:1")["class"].Str)
	a.Do("SEM.ACQUIRE", "permits", "a", "LIMIT", "2")
	require.Equal(t, "other", lockInfoOf(t, asks, "permits")["class"].Str)
	a.Do("SEM.RELEASE", "permits", "a")
	a.Do("DEL", "mail:1")
	a.Do("LOCK", "else", "a")
	a.Do("LOCK.FORCE", "else")
	clock.Advance(250 * time.Millisecond)
	b.Do("UNLOCK", "order:1", "b")
	orders := class("orders")
	require.Equal(t, "2", orders["grants"])
	require.Equal(t, "1", orders["refusals"])
	require.Equal(t, "1", orders["waits"])
	require.Equal(t, "0", orders["waiting"])
	require.Equal(t, "1000", orders["wait-p99"])
	require.Equal(t, "250", orders["hold-p50"])
	require.Equal(t, "1000", orders["hold-p99"])
	require.Contains(t, orders["lost"], `"expired" 1`)
	require.Contains(t, class("mail")["lost"], `"deleted" 1`)
	require.Contains(t, class("other")["lost"], `"forced" 1`)
	info := asks.Do("INFO", "locks").Str
	require.Contains(t, info, "lock_class_orders:grants=2,refusals=1,timeouts=0,deadlocks=0,waiting=0,waits=1,wait_p50_ms=1000.000")

	a.Do("LOCK", "x:1", "a")
	b.Send("LOCK", "x:1", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	require.Equal(t, "1", class("other")["waiting"])
	a.Do("CONFIG", "SET", "lock-class", "x x:*")
	require.Equal(t, "1", class("x")["waiting"], "a wait goes to its new class")
	require.Equal(t, "0", class("other")["waiting"])
	require.Equal(t, "0", class("other")["grants"])
	a.Do("CONFIG", "SET", "maxclients", "9000")
	a.Do("LOCK", "x:2", "a")
	require.Equal(t, "1", class("x")["grants"])
	a.Do("CONFIG", "SET", "maxclients", "9001")
	require.Equal(t, "1", class("x")["grants"], "another directive resets nothing")
	a.Do("CONFIG", "RESETSTAT")
	require.Equal(t, "0", class("x")["grants"])
	require.Equal(t, "1", class("x")["waiting"])
	require.True(t, a.Do("CONFIG", "SET", "lock-class", "x").IsError())
}

// TestLockHot: the keys with most of each measure.
func TestLockHot(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	a, b := client(t, srv), client(t, srv)
	hot := func(words ...string) string {
		m := entries(t, a.Do(append([]string{"LOCK.HOT"}, words...)...))
		var list []string
		for _, k := range m["keys"].Elems {
			f := entries(t, k)
			list = append(list, f["key"].Str+" "+strings.Trim(f["least"].String(), `"`))
		}
		return strings.Join(list, ", ")
	}
	for range 3 {
		a.Do("LOCK", "often", "a")
		a.Do("UNLOCK", "often", "a")
	}
	a.Do("LOCK", "long", "a", "PX", "60000")
	b.Send("LOCK", "long", "b", "WAIT", "0")
	awaitParked(t, srv, 1)
	clock.Advance(40 * time.Millisecond)
	a.Do("UNLOCK", "long", "a")
	b.Receive()
	require.Equal(t, "long 40", hot())
	require.Equal(t, "long 40", hot("BY", "wait", "COUNT", "1"))
	require.True(t, strings.HasPrefix(hot("BY", "HOLD"), "long 39.9") || strings.HasPrefix(hot("BY", "HOLD"), "long 40"), hot("BY", "HOLD"))
	require.Equal(t, "often 3, long 1", hot("BY", "grants"), "a hold counts when it ends")
	require.Equal(t, "often 3", hot("BY", "grants", "COUNT", "1"))
	require.Equal(t, "long 1", hot("BY", "waiters"))
	for _, wrong := range []string{"BY", "BY x", "wait", "COUNT 0"} {
		require.True(t, a.Do(append([]string{"LOCK.HOT"}, strings.Fields(wrong)...)...).IsError(), wrong)
	}
	a.Do("CONFIG", "RESETSTAT")
	require.Empty(t, hot("BY", "grants"))
	require.True(t, slices.Contains([]string{"", "long 0"}, hot()))
}

// TestAskIsRecorded: the history, the events and the figures tell of a LOCK.ASK.
func TestAskIsRecorded(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(historyStartMS))
	srv := startWith(t, Options{Clock: clock}, nil)
	c, holder, listener := client(t, srv), client(t, srv), client(t, srv)
	holder.Hello(3)
	holder.Do("LOCK.ATTACH", "a")
	c.Do("CONFIG", "SET", "notify-keyspace-events", "Eg")
	c.Do("LOCK", "k", "a")
	listener.Do("SUBSCRIBE", "__keyevent@0__:ask")
	c.Do("LOCK.ASK", "free")
	require.EqualValues(t, 1, c.Do("LOCK.ASK", "k").Int)
	require.Equal(t, `["message" "__keyevent@0__:ask" "k"]`, listener.Receive().String())
	c.Do("SEM.ACQUIRE", "s", "b", "LIMIT", "5", "PERMITS", "2")
	c.Do("LOCK", "r", "b", "SHARED")
	clock.Advance(time.Millisecond)
	c.Do("LOCK.ASK", "s", "REASON", "x")
	c.Do("LOCK.ASK", "r")
	require.Equal(t, []string{"0 granted k a", "0 asked k a", "0 granted s b semaphore permits=2", "0 granted r b shared",
		"1 asked s b semaphore permits=2", "1 asked r b shared"}, historyOf(t, c))
	require.EqualValues(t, 3, infoNumber(t, c, "lock_asks"))
	require.EqualValues(t, 1, infoNumber(t, c, "lock_asks_heard"))
	f := srv.Figures()
	require.EqualValues(t, [2]int64{3, 1}, [2]int64{f.LockAsks, f.LockAsksHeard})
	c.Do("CONFIG", "RESETSTAT")
	require.Zero(t, infoNumber(t, c, "lock_asks"))
}
