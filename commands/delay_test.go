package commands

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyevent"
	"lockserver/internal/recur"
	"lockserver/store"
)

func newDelays(t testing.TB) *fixture {
	return newFixture(t, DelayRows, StreamRows, ZSetRows, HashRows, StringRows, KeyRows, KeyspaceRows)
}

// fire advances the clock by some milliseconds and adds the due entries, in batches of at most budget.
func (f *fixture) fire(ms int64, budget int) (lateMS []int64) {
	f.t.Helper()
	f.nowMS += ms
	f.store.SetNow(f.nowMS * 1000)
	for f.store.ExpireDue(100) {
	}
	c := &Ctx{Table: f.table, DB: f.store.DB(0), Rand: f.rand, Host: f, Settings: &f.settings}
	for FireDelayed(c, f.store, budget, f.firing(func(dueMS int64) { lateMS = append(lateMS, f.nowMS-dueMS) })) {
	}
	f.serveWaiters()
	return lateMS
}

// firing returns a Firing of a server that has run since f.since.
func (f *fixture) firing(added func(dueMS int64)) *Firing {
	return &Firing{SinceMS: f.since, Added: func(dueMS int64, _ bool) { added(dueMS) }, Skipped: func() {}}
}

// values returns the values of the field n of a stream's entries, in order.
func (f *fixture) values(stream string) string {
	var list []string
	for _, e := range f.do("XRANGE", stream, "-", "+").Elems {
		list = append(list, e.Elems[1].Elems[1].Str)
	}
	return strings.Join(list, " ")
}

func TestDelayedEntriesFire(t *testing.T) {
	f := newDelays(t)
	f.settings.Events = keyevent.All
	want := func(reply, line string, effects ...string) {
		t.Helper()
		require.Equal(t, reply, f.do(splitWords(t, line)...).String(), line)
		require.Equal(t, effects, f.effects(), line)
	}
	want(`"a"`, "DELAY.ADD s PX 100 ID a n 1", "0 ZADD {s}:delayed 1700000000100 a0:a", "0 HSET {s}:delayed:entries a a0,1:n,1:1,")
	want(`"b"`, "DELAY.ADD s AT 1700000000100 ID b n 2 m ''", "0 ZADD {s}:delayed 1700000000100 a1:b", "0 HSET {s}:delayed:entries b a1,1:n,1:2,1:m,0:,")
	want(`$nil`, "DELAY.ADD s PX 5 ID a n 3")
	want(`2`, "DELAY.COUNT s")
	want(`[1700000000100 ["n" "2" "m" ""]]`, "DELAY.GET s b")
	want(`*nil`, "DELAY.GET s c")
	want(`[["a" 1700000000100 ["n" "1"]] ["b" 1700000000100 ["n" "2" "m" ""]]]`, "DELAY.LIST s")
	want(`[["a" 1700000000100 ["n" "1"]]]`, "DELAY.LIST s FROM 1700000000100 COUNT 1")
	want(`[]`, "DELAY.LIST s FROM 1700000000101")
	require.Empty(t, f.fire(99, 10))
	f.events = nil
	require.Equal(t, []int64{3, 3}, f.fire(4, 10))
	require.Equal(t, []string{"0 XADD s 1700000000103-0 n 1", "0 XADD s 1700000000103-1 n 2 m ", "0 DEL {s}:delayed",
		"0 HDEL {s}:delayed:entries a", "0 DEL {s}:delayed:entries"}, f.effects())
	require.Equal(t, []string{"xadd s", "xadd s", "zrem {s}:delayed", "del {s}:delayed", "hdel {s}:delayed:entries", "del {s}:delayed:entries"}, f.events)
	want(`0`, "DELAY.COUNT s")
	want(`[]`, "DELAY.LIST s")
	want(`0`, "DELAY.CANCEL s a")
	want(`0`, "DELAY.MOVE s a PX 1")
	want(`1`, "DBSIZE")
	_, armed := f.store.NextAlarmMS(store.DelayAlarm)
	require.False(t, armed)
}

func TestDelayedEntriesAreCancelledAndMoved(t *testing.T) {
	f := newDelays(t)
	for i, ms := range []string{"10", "20", "20", "30"} {
		f.want(fmt.Sprintf(`"e%d"`, i), "DELAY.ADD", "s", "PX", ms, "ID", fmt.Sprint("e", i), "n", fmt.Sprint(i))
	}
	f.effects()
	f.want("1", "DELAY.CANCEL", "s", "e0")
	require.Equal(t, []string{"0 ZREM {s}:delayed a0:e0", "0 HDEL {s}:delayed:entries e0"}, f.effects())
	f.want("0", "DELAY.CANCEL", "s", "e0")
	f.want("1", "DELAY.MOVE", "s", "e1", "PX", "30") // after e3
	require.Equal(t, []string{"0 ZADD {s}:delayed 1700000000030 a1:e1", "0 ZREM {s}:delayed a0:e1", "0 HSET {s}:delayed:entries e1 a1,1:n,1:1,"}, f.effects())
	f.want("1", "DELAY.MOVE", "s", "e2", "AT", "1700000000025")
	f.want(`"e0"`, "DELAY.ADD", "s", "PX", "30", "ID", "e0", "n", "0") // its id is free again
	require.Len(t, f.fire(29, 10), 1)
	f.want(`"e2"`, "DELAY.ADD", "s", "PX", "1", "ID", "e2", "n", "2 again")
	f.fire(1, 2)
	require.Equal(t, "2 3 1 0 2 again", f.values("s"))
	f.want("1", "DBSIZE")
}

// TestDelayRequestsAreRecognised: a call with ONCE has its effect once, however often it is repeated, even
// when its entry is no longer pending.
func TestDelayRequestsAreRecognised(t *testing.T) {
	f := newDelays(t)
	f.settings.Events = keyevent.All
	again := func(reply, line string) {
		t.Helper()
		for range 3 {
			require.Equal(t, reply, f.do(splitWords(t, line)...).String(), line)
		}
	}
	again(`"a"`, "DELAY.ADD s PX 5 ID a ONCE r1 n 1")
	require.Equal(t, []string{"0 ZADD {s}:delayed 1700000000005 a0:a", "0 HSET {s}:delayed:entries a a0,1:n,1:1,",
		"0 HSET {s}:delayed:requests r1 a:a", "0 HPEXPIREAT {s}:delayed:requests 1700000600000 FIELDS 1 r1"}, f.effects())
	require.Len(t, f.fire(5, 10), 1)
	again(`"a"`, "DELAY.ADD s PX 5 ID a ONCE r1 n 1") // the entry has been added to the stream since
	f.want("0", "DELAY.COUNT", "s")
	again(`"a"`, "DELAY.ADD s PX 5 ID a ONCE r2 n 2") // another request: the id is free again
	f.want(`$nil`, "DELAY.ADD", "s", "PX", "5", "ID", "a", "ONCE", "r3", "n", "3")
	again("1", "DELAY.MOVE s a PX 1 ONCE r4")
	again("1", "DELAY.CANCEL s a ONCE r5")
	f.want("0", "DELAY.CANCEL", "s", "a", "ONCE", "r6")
	again("1", "DELAY.MOVE s a PX 1 ONCE r4")
	again(`"a"`, "DELAY.ADD s PX 5 ID a ONCE r2 n 2")
	f.want("1", "XLEN", "s")
	f.want("4", "HLEN", "{s}:delayed:requests") // the requests that had an effect
	f.effects()
	for line, reply := range map[string]Error{
		"DELAY.ADD s PX 5 ID b ONCE r1 n 1": ErrDelayRequest([]byte("r1")),
		"DELAY.CANCEL s a ONCE r1":          ErrDelayRequest([]byte("r1")),
		"DELAY.MOVE s a PX 1 ONCE r5":       ErrDelayRequest([]byte("r5")),
		"DELAY.ADD s PX 5 ID b ONCE '' n 1": ErrDelayRequestEmpty,
		"DELAY.CANCEL s a ONCE ''":          ErrDelayRequestEmpty,
		"DELAY.CANCEL s a TWICE r1":         ErrSyntax,
	} {
		require.Equal(t, "-"+string(reply), f.do(splitWords(t, line)...).String(), line)
		require.Empty(t, f.effects(), line)
	}
	f.do("SET", "{x}:delayed:requests", "text")
	f.want("-"+string(ErrWrongType), "DELAY.ADD", "x", "PX", "5", "ID", "b", "ONCE", "r", "n", "1")
	f.fire(DelayOnceMS+1, 10)
	f.want("0", "EXISTS", "{s}:delayed:requests")
	f.want(`"a"`, "DELAY.ADD", "s", "PX", "5", "ID", "a", "ONCE", "r1", "n", "1")
}

// TestDelayedEntriesKeepTheirOrder: ten thousand entries that are due at the same time come in order, in any
// batches and with other entries between them.
func TestDelayedEntriesKeepTheirOrder(t *testing.T) {
	f := newDelays(t)
	const n = 1200
	var want []string
	for i := range n {
		f.do("DELAY.ADD", "s", "AT", fmt.Sprint(startMS+50), "ID", fmt.Sprint(n-i), "n", fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
	}
	f.fire(50, 7)
	require.Equal(t, strings.Join(want, " "), f.values("s"))
	f.want("1", "DBSIZE")
}

func TestDelayedEntriesOfTwoStreams(t *testing.T) {
	f := newDelays(t)
	f.do("DELAY.ADD", "{a}", "PX", "5", "n", "braces")
	f.do("DELAY.ADD", "a", "PX", "5", "n", "none")
	f.do("DELAY.ADD", "", "PX", "5", "n", "empty")
	f.want("3", "EXISTS", "{a}:delayed", "{{a}}:delayed", "{}:delayed")
	f.fire(5, 1)
	require.Equal(t, "none", f.values("a"))
	require.Equal(t, "braces", f.values("{a}"))
	require.Equal(t, "empty", f.values(""))
}

func TestDelayRefusesBadCalls(t *testing.T) {
	f := newDelays(t)
	f.do("SET", "text", "x")
	f.do("SET", "{z}:delayed", "x")
	f.do("SET", "{h}:delayed:entries", "x")
	f.do("DELAY.ADD", "s", "PX", "5", "ID", "a", "n", "1")
	f.effects()
	arity := func(name string) string { return "ERR wrong number of arguments for '" + name + "' command" }
	for line, reply := range map[string]string{
		"DELAY.ADD s PX x n 1":                                  ErrDelayTime.Error(),
		"DELAY.ADD s PX -1 n 1":                                 ErrDelayTime.Error(),
		"DELAY.ADD s AT -1 n 1":                                 ErrDelayTime.Error(),
		"DELAY.ADD s PX 9223372036854775807 n 1":                ErrDelayTime.Error(),
		"DELAY.ADD s PX 1125899906842624 n 1":                   ErrDelayTime.Error(),
		"DELAY.ADD s AT 1125899906842625 n 1":                   ErrDelayTime.Error(),
		"DELAY.ADD s IN 5 n 1":                                  ErrSyntax.Error(),
		"DELAY.ADD s FROM 5 n 1":                                ErrSyntax.Error(),
		"DELAY.ADD s PX 5 ID a":                                 arity("delay.add"),
		"DELAY.ADD s PX 5 ID '' n 1":                            ErrDelayID.Error(),
		"DELAY.ADD s PX 5 n":                                    arity("delay.add"),
		"DELAY.ADD s PX 5 n 1 m":                                arity("delay.add"),
		"DELAY.ADD text PX 5 n 1":                               ErrWrongType.Error(),
		"DELAY.ADD z PX 5 n 1":                                  ErrWrongType.Error(),
		"DELAY.ADD h PX 5 n 1":                                  ErrWrongType.Error(),
		"DELAY.CANCEL z a":                                      ErrWrongType.Error(),
		"DELAY.MOVE h a PX 1":                                   ErrWrongType.Error(),
		"DELAY.MOVE s a PX x":                                   ErrDelayTime.Error(),
		"DELAY.MOVE s a PX 1 PX 1":                              ErrSyntax.Error(),
		"DELAY.GET z a":                                         ErrWrongType.Error(),
		"DELAY.LIST z":                                          ErrWrongType.Error(),
		"DELAY.LIST s FROM x":                                   ErrDelayTime.Error(),
		"DELAY.LIST s COUNT 0":                                  ErrNotPositive.Error(),
		"DELAY.LIST s 5":                                        ErrSyntax.Error(),
		"DELAY.COUNT h":                                         ErrWrongType.Error(),
		"DELAY.ADD s AT 1125899906842624 ID late n 1 EXTRA":     arity("delay.add"),
		"DELAY.MOVE s a AT " + fmt.Sprint(int64(math.MinInt64)): ErrDelayTime.Error(),
	} {
		require.Equal(t, "-"+reply, f.do(splitWords(t, line)...).String(), line)
		require.Empty(t, f.effects(), line)
	}
	require.Len(t, f.do("DELAY.ADD", "s", "PX", "0", "n", "1").Str, 16)
	f.want(`"ID"`, "DELAY.ADD", "s", "AT", "1125899906842624", "ID", "ID", "ID", "id")
	require.Len(t, f.fire(0, 10), 1)
}

// TestDelayedEntriesWaitForTheirKeys: an obstacle delays an entry further, and nothing is lost.
func TestDelayedEntriesWaitForTheirKeys(t *testing.T) {
	f := newDelays(t)
	f.do("DELAY.ADD", "s", "PX", "5", "ID", "a", "n", "1")
	f.do("SET", "s", "text")
	require.Empty(t, f.fire(5, 10))
	f.do("DEL", "s")
	require.Empty(t, f.fire(retryDelayMS-1, 10))
	require.Len(t, f.fire(1, 10), 1)

	f.do("DELAY.ADD", "s", "PX", "5", "ID", "b", "n", "2") // both keys are renamed, one after the other
	f.do("RENAME", "{s}:delayed", "{t}:delayed")
	require.Empty(t, f.fire(5, 10))
	f.do("RENAME", "{s}:delayed:entries", "{t}:delayed:entries")
	require.Len(t, f.fire(retryDelayMS, 10), 1)
	require.Equal(t, "2", f.values("t"))

	f.do("XADD", "full", fmt.Sprintf("%d-%d", uint64(math.MaxUint64), uint64(math.MaxUint64)), "n", "x")
	f.do("DELAY.ADD", "full", "PX", "5", "n", "3")
	require.Empty(t, f.fire(5, 10))
	f.want("1", "DELAY.COUNT", "full")
}

// TestDelayKeysInOtherHands: if clients change the two keys directly, only the entries that they change are
// affected.
func TestDelayKeysInOtherHands(t *testing.T) {
	f := newDelays(t)
	for i, id := range []string{"a", "b", "c", "d"} {
		f.do("DELAY.ADD", "s", "PX", "10", "ID", id, "n", fmt.Sprint(i))
	}
	f.do("ZADD", "{s}:delayed", "1", "foreign", "2", "a0:nothing", "3", "a7:a") // members without an entry
	f.do("HSET", "{s}:delayed:entries", "b", "damaged")
	f.do("HDEL", "{s}:delayed:entries", "c")
	f.do("ZREM", "{s}:delayed", "a3:d")
	f.want("0", "DELAY.CANCEL", "s", "d")
	f.want(`"d"`, "DELAY.ADD", "s", "PX", "20", "ID", "d", "n", "again")
	f.want(`[["a" 1700000000010 ["n" "0"]] ["d" 1700000000020 ["n" "again"]]]`, "DELAY.LIST", "s")
	require.Len(t, f.fire(10, 2), 1)
	f.want("1", "DELAY.COUNT", "s")
	require.Len(t, f.fire(10, 2), 1)
	require.Equal(t, "0 again", f.values("s"))
	f.want(`["b" "damaged"]`, "HGETALL", "{s}:delayed:entries")

	f.do("FLUSHALL")
	f.do("DELAY.ADD", "s", "PX", "10", "ID", "a", "n", "1")
	f.do("ZADD", "{s}:delayed", fmt.Sprint(f.nowMS+3), "a0:a") // due earlier
	require.Len(t, f.fire(3, 2), 1)
	f.do("DELAY.ADD", "s", "PX", "10", "ID", "a", "n", "1")
	f.do("PEXPIRE", "{s}:delayed", "5")
	require.Empty(t, f.fire(10, 2))
	f.want("0", "DELAY.COUNT", "s")
	f.want(`"a"`, "DELAY.ADD", "s", "PX", "10", "ID", "a", "n", "2")
	f.do("COPY", "{s}:delayed", "{t}:delayed")
	f.do("COPY", "{s}:delayed:entries", "{t}:delayed:entries")
	require.Len(t, f.fire(10, 2), 2)
	require.Equal(t, "2", f.values("t"))
}

// TestPlacesOfEntries: places sort as texts, even with different numbers of digits.
func TestPlacesOfEntries(t *testing.T) {
	last := ""
	for _, place := range []int64{0, 1, 9, 10, 99, 100, 4294967296, math.MaxInt64} {
		text := string(appendPlace(nil, place))
		require.Less(t, last, text)
		got, ok := parsePlace([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, place, got)
		last = text
	}
	for _, text := range []string{"", "a", "0", "a-1", "b1", "a10", "c-10", "ax", "A0", "b01"} {
		_, ok := parsePlace([]byte(text))
		require.False(t, ok, text)
	}
	f := newDelays(t)
	f.do("ZADD", "{s}:delayed", fmt.Sprint(startMS+5), fmt.Sprintf("s%d:x", int64(math.MaxInt64)))
	f.want("-"+string(ErrDelayPlaces), "DELAY.ADD", "s", "PX", "5", "n", "1")
}

// TestBatchesOfLargeEntries: a batch moves at most 256 KB and one more entry, for any limit on the number of
// entries.
func TestBatchesOfLargeEntries(t *testing.T) {
	f := newDelays(t)
	const entries, body = 40, 100_000
	for n := range entries {
		f.do("DELAY.ADD", "s", "PX", "10", "ID", fmt.Sprint("e", n), "n", strings.Repeat("x", body))
	}
	f.nowMS += 10
	f.store.SetNow(f.nowMS * 1000)
	c := &Ctx{Table: f.table, DB: f.store.DB(0), Rand: f.rand, Host: f, Settings: &f.settings}
	fired, most := 0, 0
	for fired < entries {
		n := 0
		fireAt(c, []byte("{s}:delayed"), 128, f.firing(func(int64) { n++ }), &recur.Zones{})
		require.Positive(t, n)
		most, fired = max(most, n), fired+n
	}
	require.LessOrEqual(t, (most-1)*body, mostDelayBytes)
	require.Equal(t, entries, fired)
}

// TestDelayAddAllocates: a new entry allocates only its own memory: a member, a field with its value, and
// sometimes a larger table.
func TestDelayAddAllocates(t *testing.T) {
	f := newDelays(t)
	add := func(n int) [][]byte {
		return words("DELAY.ADD", "s", "AT", fmt.Sprint(startMS+int64(n%100)), "ID", fmt.Sprint("order-", n), "n", strings.Repeat("x", 60))
	}
	const entries = 4000
	for n := range entries {
		f.do(asTexts(add(n))...)
	}
	f.store.Record(false)
	f.store.SetObserver(nil)
	argv := make([][][]byte, entries)
	for n := range argv {
		argv[n] = add(entries + n)
	}
	row, err := f.table.Resolve(argv[0])
	require.NoError(t, err)
	c := f.client(1).context(argv[0], row)
	n := 0
	require.LessOrEqual(t, testing.AllocsPerRun(entries-1, func() {
		c.Out.Rollback(0)
		c.Argv = argv[n]
		n++
		if err := row.Run(c); err != nil {
			t.Error(err)
		}
	}), 3.0)
	f.want("8000", "DELAY.COUNT", "s")
}

// asTexts returns words as strings.
func asTexts(argv [][]byte) (list []string) {
	for _, word := range argv {
		list = append(list, string(word))
	}
	return list
}

// FuzzDelayedEntry parses arbitrary bytes as an entry. If they are valid, writing the entry gives the same
// bytes.
func FuzzDelayedEntry(f *testing.F) {
	f.Add([]byte("a0,1:n,1:1,"))
	rule := delayRule{cron: []byte("* * * * *"), zone: []byte("UTC"), times: 2, untilMS: 3, missed: missedAll, atMS: 4, madeUp: 5}
	f.Add(appendEntry(nil, 12, rule.appendRule(nil), [][]byte{[]byte("n"), []byte("1")}))
	f.Fuzz(func(t *testing.T, value []byte) {
		place, rule, fields, ok := parseEntry(nil, value)
		if !ok {
			return
		}
		require.Zero(t, len(fields)%2)
		again, sameRule, same, ok := parseEntry(nil, appendEntry(nil, place, rule, fields))
		require.True(t, ok)
		require.Equal(t, place, again)
		require.Equal(t, fields, same)
		require.Equal(t, rule, sameRule)
		if r, ok := parseRule(rule); ok {
			again, ok := parseRule(r.appendRule(nil))
			require.True(t, ok)
			require.Equal(t, r, again)
		}
	})
}
