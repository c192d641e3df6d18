package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/persistence/rdb"
	"lockserver/server/shard"
	"lockserver/server/transport"
	"lockserver/tests/testkit"
)

// Delayed entries are added without access to their keys, each at its time, and wake the clients that wait
// for their stream.
func TestDelayedEntriesWakeReaders(t *testing.T) {
	t.Parallel()
	srv, clock, c := startLimits(t, 3)
	want(t, c[0], [2]string{"XGROUP CREATE s g $ MKSTREAM", "+OK"}, [2]string{"DELAY.ADD s PX 100 ID a n 1", `"a"`}, [2]string{"DELAY.ADD s PX 50 ID b n 2", `"b"`})
	c[1].Send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	awaitParked(t, srv, 1)
	c[2].Send("XREADGROUP", "GROUP", "g", "worker", "COUNT", "1", "BLOCK", "0", "STREAMS", "s", ">")
	awaitParked(t, srv, 2)
	clock.Advance(49 * time.Millisecond)
	awaitParked(t, srv, 2)
	clock.Advance(time.Millisecond)
	first := fmt.Sprintf(`[["s" [["%d-0" ["n" "2"]]]]]`, saleStart+50)
	require.Equal(t, first, c[1].Receive().String())
	require.Equal(t, first, c[2].Receive().String())
	clock.Advance(time.Hour)
	want(t, c[0], [2]string{"XREAD STREAMS s 1750000000050", fmt.Sprintf(`[["s" [["%d-0" ["n" "1"]]]]]`, saleStart+100)},
		[2]string{"DELAY.COUNT s", "0"})
	text := c[0].Do("INFO", "delays").Str
	require.Contains(t, text, "delayed_streams:0\r\ndelayed_pending:0\r\ndelayed_fired:2\r\ndelayed_recurred:0\r\ndelayed_skipped:0\r\ndelayed_late_max_us:0\r\n")
	want(t, c[0], [2]string{"CONFIG RESETSTAT", "+OK"})
	require.Contains(t, c[0].Do("INFO", "delays").Str, "delayed_fired:0\r\n")
	checkParking(t, srv)
}

// A transaction and a script are one moment: nothing is added in their middle, and all of it after them.
func TestDelayedEntriesInUnits(t *testing.T) {
	t.Parallel()
	srv, clock, c := startLimits(t, 1)
	want(t, c[0], [2]string{"MULTI", "+OK"}, [2]string{"DELAY.ADD s PX 0 ID a n 1", "+QUEUED"}, [2]string{"XLEN s", "+QUEUED"},
		[2]string{"DELAY.MOVE s a PX 10", "+QUEUED"}, [2]string{"DELAY.ADD s AT 0 ID b n 2", "+QUEUED"}, [2]string{"XLEN s", "+QUEUED"},
		[2]string{"EXEC", `["a" 0 1 "b" 0]`}, [2]string{"XLEN s", "1"}, [2]string{"DELAY.COUNT s", "1"})
	script := "redis.call('DELAY.ADD', KEYS[1], 'PX', 0, 'ID', 'c', 'n', 3) return redis.call('XLEN', KEYS[1])"
	require.Equal(t, "1", c[0].Do("EVAL", script, "1", "s").String())
	want(t, c[0], [2]string{"XLEN s", "2"})
	clock.Advance(10 * time.Millisecond)
	want(t, c[0], [2]string{"XLEN s", "3"}, [2]string{"WATCH s", "+OK"}, [2]string{"DELAY.ADD s PX 5 ID d n 4", `"d"`})
	clock.Advance(5 * time.Millisecond)
	want(t, c[0], [2]string{"MULTI", "+OK"}, [2]string{"PING", "+QUEUED"}, [2]string{"EXEC", "*nil"})
	checkParking(t, srv)
}

// Many that are due at once are added in portions, between which others are served.
func TestManyDelayedEntriesAtOnce(t *testing.T) {
	t.Parallel()
	_, clock, c := startLimits(t, 2)
	const n = 20 * shard.AlarmBudget
	script := "for i = 1, ARGV[1] do redis.call('DELAY.ADD', KEYS[1], 'AT', ARGV[2], 'n', i) end return redis.call('DELAY.COUNT', KEYS[1])"
	require.EqualValues(t, n, c[0].Do("EVAL", script, "1", "s", fmt.Sprint(n), fmt.Sprint(saleStart+10)).Int)
	clock.Set(time.UnixMilli(saleStart + 10)) // nothing is carried out but what a command's batch does
	added := c[0].Do("XLEN", "s").Int
	require.EqualValues(t, shard.AlarmBudget, added)
	clock.Advance(0)
	require.EqualValues(t, n, c[0].Do("XLEN", "s").Int)
	for i, e := range c[0].Do("XRANGE", "s", "-", "+").Elems {
		require.Equal(t, fmt.Sprint(i+1), e.Elems[1].Elems[1].Str)
	}
	require.Equal(t, "1", c[0].Do("DBSIZE").String())
}

// The log has each batch as one transaction, of commands that a Redis understands.
func TestDelayedEntriesInTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := inDir(dir)
	conf.AppendOnly = true
	clock := NewManualClock(time.UnixMilli(saleStart))
	srv := start(t, Options{Clock: clock, Directives: conf.Directives()})
	c := client(t, srv)
	want(t, c, [2]string{"DELAY.ADD s PX 5 ID a n 1", `"a"`}, [2]string{"DELAY.ADD s PX 5 ID b n 2", `"b"`}, [2]string{"DELAY.ADD s PX 50 ID c n 3", `"c"`})
	clock.Advance(5 * time.Millisecond)
	require.NoError(t, srv.Close())
	logs, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	require.NoError(t, err)
	require.Len(t, logs, 1)
	text, err := os.ReadFile(logs[0])
	require.NoError(t, err)
	var words []string
	for line := range strings.Lines(string(text)) {
		if line[0] != '*' && line[0] != '$' && line[0] != '#' {
			words = append(words, strings.TrimSpace(line))
		}
	}
	all := strings.Join(words, " ")
	require.Contains(t, all, fmt.Sprintf("MULTI XADD s %d-0 n 1 XADD s %d-1 n 2 ZREM {s}:delayed a0:a a1:b HDEL {s}:delayed:entries a b EXEC", saleStart+5, saleStart+5))

	clock.Set(time.UnixMilli(saleStart + 1000)) // it falls due while the server is down
	srv = start(t, Options{Clock: clock, Directives: conf.Directives()})
	c = client(t, srv)
	require.Equal(t, "3", c.Do("XLEN", "s").String())
	require.Contains(t, c.Do("INFO", "delays").Str, "delayed_fired:1\r\ndelayed_recurred:0\r\ndelayed_skipped:0\r\ndelayed_late_max_us:950000")
}

// TestRecurringEntriesAreMarked: only a file with entries that recur has a mark. Older versions do not load a
// file with a mark. It is a limit of tokens that is no number, or a line of more than 1024 bytes. Redis reads
// such a line in pieces of 1023 bytes.
func TestRecurringEntriesAreMarked(t *testing.T) {
	t.Parallel()
	for _, preamble := range []bool{true, false} {
		dir := t.TempDir()
		conf := inDir(dir)
		conf.AppendOnly, conf.AOFUseRDBPreamble = true, preamble
		clock := NewManualClock(time.UnixMilli(saleStart))
		srv := start(t, Options{Clock: clock, Directives: conf.Directives()})
		c := client(t, srv)
		marked := func(pattern string) (marks int) {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			require.NoError(t, err)
			require.Len(t, files, 1, pattern)
			text, err := os.ReadFile(files[0])
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "#") && len(line) > 1024 {
					require.Equal(t, "#", line[1023:1024])
					require.Less(t, len(line), 2*1023)
					marks++
				}
			}
			return marks + strings.Count(string(text), rdb.RulesMark)
		}
		rewrite := func() {
			t.Helper()
			require.Equal(t, "+Background append only file rewriting started", c.Do("BGREWRITEAOF").String())
			eventually(t, func() bool { return infoField(t, c, "aof_rewrite_in_progress") == "0" }, "it is rewritten")
			want(t, c, [2]string{"SAVE", "+OK"})
		}
		const base, incr, snapshot = "appendonlydir/*.base.*", "appendonlydir/*.incr.aof", "dump.rdb"
		want(t, c, [2]string{"DELAY.ADD s PX 60000 ID once n 1", `"once"`}, [2]string{"SAVE", "+OK"})
		require.Equal(t, [3]int{0, 0, 0}, [3]int{marked(base), marked(incr), marked(snapshot)})
		want(t, c, [2]string{"DELAY.ADD s EVERY 1000 ID job n 1", `"job"`})
		clock.Advance(5 * time.Second)
		want(t, c, [2]string{"DELAY.ADD s EVERY 1000 ID another n 1", `"another"`}, [2]string{"SAVE", "+OK"})
		require.Equal(t, [3]int{0, 1, 1}, [3]int{marked(base), marked(incr), marked(snapshot)})
		rewrite()
		require.Equal(t, [3]int{1, 0, 1}, [3]int{marked(base), marked(incr), marked(snapshot)})
		want(t, c, [2]string{"DELAY.CANCEL s job", "1"}, [2]string{"DELAY.CANCEL s another", "1"})
		rewrite()
		require.Equal(t, [3]int{0, 0, 0}, [3]int{marked(base), marked(incr), marked(snapshot)})
		want(t, c, [2]string{"DELAY.ADD s EVERY 1000 ID job n 1", `"job"`})
		require.Equal(t, 1, marked(incr), "each file has one")
		rewrite()
		require.NoError(t, srv.Close())
		again := client(t, start(t, Options{Clock: clock, Directives: conf.Directives()}))
		want(t, again, [2]string{"DELAY.COUNT s", "2"})
	}
}

// Rights: the stream and the two keys beside it are all needed.
func TestDelayedEntriesNeedRights(t *testing.T) {
	t.Parallel()
	_, _, c := startLimits(t, 2)
	want(t, c[0], [2]string{"ACL SETUSER few on nopass ~s +@delay", "+OK"}, [2]string{"ACL SETUSER all on nopass ~s ~{s}:delayed* +@delay", "+OK"})
	want(t, c[1], [2]string{"AUTH few x", "+OK"}, [2]string{"DELAY.ADD s PX 1 n 1", "-NOPERM No permissions to access a key"},
		[2]string{"DELAY.COUNT s", "-NOPERM No permissions to access a key"}, [2]string{"AUTH all x", "+OK"}, [2]string{"DELAY.COUNT s", "0"},
		[2]string{"DELAY.ADD t PX 1 n 1", "-NOPERM No permissions to access a key"}, [2]string{"DELAY.ADD s PX 1 ID a n 1", `"a"`},
		[2]string{"XLEN s", "-NOPERM User all has no permissions to run the 'xlen' command"})
}

// DUMP and RESTORE carry the two keys to another stream and to another server. Their entries are added there
// at their times.
func TestDelayedEntriesAreRestored(t *testing.T) {
	t.Parallel()
	_, _, from := startLimits(t, 1)
	_, clock, to := startLimits(t, 1)
	want(t, from[0], [2]string{"DELAY.ADD s PX 100 ID a n 1", `"a"`}, [2]string{"DELAY.ADD s PX 100 ID b n 2", `"b"`}, [2]string{"DELAY.ADD s PX 50 ID c n 3", `"c"`})
	for _, suffix := range []string{":delayed", ":delayed:entries"} {
		require.Equal(t, "+OK", to[0].Do("RESTORE", "{t}"+suffix, "0", from[0].Do("DUMP", "{s}"+suffix).Str).String())
	}
	want(t, to[0], [2]string{"DELAY.COUNT t", "3"}, [2]string{"DELAY.CANCEL t b", "1"}, [2]string{"DELAY.ADD t PX 100 ID d n 4", `"d"`},
		[2]string{"DELAY.LIST t", fmt.Sprintf(`[["c" %d ["n" "3"]] ["a" %d ["n" "1"]] ["d" %d ["n" "4"]]]`, saleStart+50, saleStart+100, saleStart+100)})
	clock.Advance(50 * time.Millisecond)
	want(t, to[0], [2]string{"XRANGE t - +", fmt.Sprintf(`[["%d-0" ["n" "3"]]]`, saleStart+50)})
	clock.Advance(50 * time.Millisecond)
	want(t, to[0], [2]string{fmt.Sprintf("XRANGE t %d +", saleStart+51), fmt.Sprintf(`[["%d-0" ["n" "1"]] ["%d-1" ["n" "4"]]]`, saleStart+100, saleStart+100)},
		[2]string{"DBSIZE", "1"})
}

// Keyspace events report each step, on the stream and on its two keys.
func TestDelayedEntriesHaveEvents(t *testing.T) {
	t.Parallel()
	_, clock, c := startLimits(t, 2)
	want(t, c[0], [2]string{"CONFIG SET notify-keyspace-events EA", "+OK"})
	c[1].Do("PSUBSCRIBE", "__keyevent@0__:*")
	next := func() string {
		v := c[1].Receive()
		return strings.TrimPrefix(v.Elems[2].Str, "__keyevent@0__:") + " " + v.Elems[3].Str
	}
	for _, step := range []struct {
		words  [2]string
		events []string
	}{
		{[2]string{"DELAY.ADD s PX 100 ID a n 1", `"a"`}, []string{"delay.add s", "zadd {s}:delayed", "hset {s}:delayed:entries"}},
		{[2]string{"DELAY.MOVE s a PX 50", "1"}, []string{"delay.move s", "zadd {s}:delayed"}},
		{[2]string{"DELAY.CANCEL s a", "1"}, []string{"delay.cancel s", "zrem {s}:delayed", "del {s}:delayed", "hdel {s}:delayed:entries", "del {s}:delayed:entries"}},
		{[2]string{"DELAY.ADD s PX 10 ID b n 2", `"b"`}, []string{"delay.add s", "zadd {s}:delayed", "hset {s}:delayed:entries"}},
	} {
		want(t, c[0], step.words)
		for _, event := range step.events {
			require.Equal(t, event, next(), step.words[0])
		}
	}
	clock.Advance(10 * time.Millisecond)
	for _, event := range []string{"xadd s", "zrem {s}:delayed", "del {s}:delayed", "hdel {s}:delayed:entries", "del {s}:delayed:entries"} {
		require.Equal(t, event, next())
	}
	want(t, c[0], [2]string{"LIMIT.TAKE k 1 1 1000", "[1 1 0 0 1000]"})
	for _, event := range []string{"limit.take k", "set k", "expire k"} {
		require.Equal(t, event, next())
	}
}

func TestDelayedEntriesInTestMode(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{}, func(c *config.Config) { c.TestMode = true })
	c := client(t, srv)
	want(t, c, [2]string{"TEST.CLOCK FREEZE 1000", "1000"}, [2]string{"DELAY.ADD s PX 60000 ID a n 1", `"a"`}, [2]string{"TEST.CLOCK ADVANCE 59999", "60999"},
		[2]string{"XLEN s", "0"}, [2]string{"TEST.CLOCK ADVANCE 1", "61000"}, [2]string{"XRANGE s - +", `[["61000-0" ["n" "1"]]]`})
}

// A server that follows adds nothing by itself, and CLIENT PAUSE holds entries up.
func TestDelayedEntriesArePaused(t *testing.T) {
	t.Parallel()
	_, clock, c := startLimits(t, 1)
	want(t, c[0], [2]string{"DELAY.ADD s PX 10 ID a n 1", `"a"`}, [2]string{"CLIENT PAUSE 100 WRITE", "+OK"})
	clock.Advance(99 * time.Millisecond)
	want(t, c[0], [2]string{"XLEN s", "0"})
	clock.Advance(time.Millisecond)
	want(t, c[0], [2]string{"XLEN s", "1"})
}

// While the log cannot be written nothing is added: it would come again after a restart. When the log is
// whole again it is added, once.
func TestDelayedEntriesWaitForTheLog(t *testing.T) {
	t.Parallel()
	d, dir := newTestDisk(), t.TempDir()
	clock := NewManualClock(time.UnixMilli(saleStart))
	srv := startOn(t, d, Options{Clock: clock, Directives: logged(dir, "always").Directives()})
	c, writer := client(t, srv), client(t, srv)
	want(t, c, [2]string{"DELAY.ADD s PX 100 ID a n 1", `"a"`})
	d.set(func(d *testDisk) { d.failing = true })
	writer.Send("SET", "k", "v")
	awaitClosed(t, writer.Conn())
	eventually(t, func() bool { return infoField(t, c, "aof_last_write_status") == "err" }, "it breaks")
	clock.Advance(time.Second)
	want(t, c, [2]string{"XLEN s", "0"}, [2]string{"DELAY.COUNT s", "1"})
	d.set(func(d *testDisk) { d.failing = false })
	require.Equal(t, "+Background append only file rewriting started", c.Do("BGREWRITEAOF").String())
	eventually(t, func() bool { return c.Do("XLEN", "s").Int == 1 }, "it is added when the log is whole")
	require.NoError(t, srv.Close())
	again := client(t, start(t, Options{Clock: clock, Directives: logged(dir, "always").Directives()}))
	want(t, again, [2]string{"XLEN s", "1"}, [2]string{"DELAY.COUNT s", "0"})
}

// mostEntryBytes bounds the memory of a pending entry with an id of up to 14 bytes and a body of 64.
const mostEntryBytes = 190

// The memory of a million pending entries is bounded, whatever the order in which they fall due.
func TestDelayedEntriesMemory(t *testing.T) {
	for name, dueMS := range map[string]func(i int) int{
		"in order":        func(i int) int { return i },
		"in turns":        func(i int) int { return i % 1000 * 10 },
		"the last first":  func(i int) int { return 10_000_000 - i },
		"in random order": func(i int) int { return i * 7919 % 1_000_003 },
	} {
		t.Run(name, func(t *testing.T) {
			entries := testkit.Steps(20_000, 1_000_000)
			ex := &start(t, Options{Clock: NewManualClock(time.UnixMilli(saleStart))}).executor
			addr := &net.UnixAddr{Net: "unix"}
			s, refused := ex.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
			require.NotNil(t, s, refused)
			var scratch batch
			before := heapBytes()
			for i := range entries {
				s.Feed(appendCommand(nil, "DELAY.ADD", "s", "PX", strconv.Itoa(3_600_000+dueMS(i)), "ID", fmt.Sprintf("id%012d", i), "body", strings.Repeat("x", 60)), &scratch, nil)
			}
			each := (heapBytes() - before) / uint64(entries)
			t.Logf("a pending entry takes %d bytes of the heap", each)
			require.LessOrEqual(t, each, uint64(mostEntryBytes))
			require.EqualValues(t, entries, (informant{ex}).delayFigures().Pending[0])
		})
	}
}

// A hundred thousand entries that are due in one millisecond are added in slices, between which others are
// served. The order is that in which they came.
func TestDelayedEntriesInSlices(t *testing.T) {
	entries := testkit.Steps(20_000, 100_000)
	clock := NewManualClock(time.UnixMilli(saleStart))
	ex := &start(t, Options{Clock: clock}).executor
	addr := &net.UnixAddr{Net: "unix"}
	s, refused := ex.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
	require.NotNil(t, s, refused)
	m := &manyWaits{executor: ex, s: s, clock: clock}
	before := heapBytes()
	for i := range entries {
		s.Feed(appendCommand(nil, "DELAY.ADD", "s", "PX", "1000", "ID", strconv.Itoa(i), "body", strings.Repeat("x", 60)), &m.scratch, nil)
	}
	each := (heapBytes() - before) / uint64(entries)
	t.Logf("a pending entry takes %d bytes of the heap", each)
	require.LessOrEqual(t, each, uint64(mostEntryBytes))
	clock.Set(time.UnixMicro(clock.NowUS()).Add(time.Second))
	pending := func() int { return int((informant{ex}).delayFigures().Pending[0]) }
	require.Equal(t, entries, pending())
	most, longest := m.dueInSlices(pending)
	t.Logf("the longest slice took %v, and the largest added %d", longest, most)
	require.LessOrEqual(t, most, shard.AlarmBudget)
	require.Zero(t, pending())
	require.EqualValues(t, entries, ex.Counts.Delayed.Fired)
}

// TestWaitingEntriesAreCountedSeldom: with many streams of delayed entries, figures look at a bounded number
// of streams on average, and are right after some calls. With few streams each call counts.
func TestWaitingEntriesAreCountedSeldom(t *testing.T) {
	ex := &start(t, Options{}).executor
	addr := &net.UnixAddr{Net: "unix"}
	s, refused := ex.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
	require.NotNil(t, s, refused)
	var scratch batch
	add := func(stream int) {
		s.Feed(appendCommand(nil, "DELAY.ADD", fmt.Sprint("s", stream), "PX", "3600000", "f", "v"), &scratch, nil)
	}
	add(0)
	require.EqualValues(t, 1, informant{ex}.delayFigures().Pending[0])
	add(0)
	require.EqualValues(t, 2, informant{ex}.delayFigures().Pending[0], "each call counts")
	for i := range 5*countedStreams - 1 {
		add(1 + i)
	}
	require.EqualValues(t, 5*countedStreams+1, informant{ex}.delayFigures().Pending[0])
	add(0)
	before := ex.Counts.Delayed.Waiting.Looked
	for range 4 {
		require.EqualValues(t, 5*countedStreams+1, informant{ex}.delayFigures().Pending[0])
	}
	require.Equal(t, before, ex.Counts.Delayed.Waiting.Looked)
	require.EqualValues(t, 5*countedStreams+2, informant{ex}.delayFigures().Pending[0])
	for range 100 {
		informant{ex}.delayFigures()
	}
	require.LessOrEqual(t, ex.Counts.Delayed.Waiting.Looked-before, 105*countedStreams, "in 105 calls")
}
