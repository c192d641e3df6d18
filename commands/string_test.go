package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// TestStringScript: the replies in testdata/string.script are those of redis-server 7.4.1.
func TestStringScript(t *testing.T) {
	playScript(t, "testdata/string.script", StringRows, KeyRows)
}

func newStrings(t testing.TB) *fixture { return newFixture(t, StringRows, KeyRows) }

func TestSetDeadlines(t *testing.T) {
	f := newStrings(t)
	for _, c := range []struct {
		options string
		leftMS  int64
	}{
		{"EX 2", 2000}, {"PX 1", 1}, {"PX 1500", 1500},
		{fmt.Sprintf("EXAT %d", f.nowMS/1000+7), 7000}, {fmt.Sprintf("PXAT %d", f.nowMS+9), 9},
	} {
		for _, call := range []string{"SET k v", "GETEX k"} {
			f.want("+OK", "SET", "k", "v")
			f.do(strings.Fields(call + " " + c.options)...)
			require.Equal(t, c.leftMS, f.do("PTTL", "k").Int, "%s %s", call, c.options)
		}
	}
	f.want("+OK", "SET", "k", "v", "PX", "10")
	f.advance(10)
	f.want(`"v"`, "GET", "k")
	f.advance(1)
	f.want("$nil", "GET", "k")
}

// TestStringsOverdue: an overdue key that is not removed yet does not exist for any command.
func TestStringsOverdue(t *testing.T) {
	for _, c := range []struct{ call, reply string }{
		{"GET k", "$nil"}, {"MGET k", "[$nil]"}, {"STRLEN k", "0"}, {"SETNX k v", "1"}, {"SET k v XX", "$nil"},
		{"SET k v NX", "+OK"}, {"SET k v GET", "$nil"}, {"SET k v KEEPTTL", "+OK"}, {"GETSET k v", "$nil"},
		{"GETDEL k", "$nil"}, {"GETEX k PERSIST", "$nil"}, {"INCR k", "1"}, {"INCRBYFLOAT k 1.5", `"1.5"`},
		{"APPEND k b", "1"}, {"SETRANGE k 1 b", "2"}, {"GETRANGE k 0 -1", `""`}, {"MSETNX k v", "1"},
		{"LCS k k", `""`}, {"EXISTS k", "0"}, {"TYPE k", "+none"}, {"TTL k", "-2"}, {"PERSIST k", "0"},
		{"EXPIRE k 10", "0"}, {"DEL k", "0"}, {"RENAME k n", "-ERR no such key"}, {"RENAMENX o k", "1"},
		{"COPY k n", "0"}, {"COPY o k", "1"}, {"MOVE k 1", "0"}, {"KEYS k*", "[]"}, {"OBJECT ENCODING k", "$nil"},
		{"SCAN 0 MATCH k*", `["0" []]`}, {"TOUCH k", "0"},
	} {
		f := newStrings(t)
		f.want("+OK", "SET", "k", "100", "PX", "10")
		f.want("+OK", "SET", "o", "1")
		f.nowMS += 11 // not f.advance, which would remove it
		f.store.SetNow(f.nowMS * 1000)
		f.want(c.reply, strings.Fields(c.call)...)
		require.Less(t, f.do("PTTL", "k").Int, int64(0), "%s has kept the deadline", c.call)
	}
}

func TestStringEffects(t *testing.T) {
	f := newStrings(t)
	at := fmt.Sprint(f.nowMS + 5000)
	for _, c := range []struct {
		call    string
		effects []string
	}{
		{"SET k 1", []string{"0 SET k 1"}},
		{"SET k 2 EX 5", []string{"0 SET k 2 PXAT " + at}},
		{"SET k 3 KEEPTTL", []string{"0 SET k 3 KEEPTTL"}},
		{"SET k 3 NX", nil},
		{"SET none 3 XX GET", nil},
		{"INCR k", []string{"0 SET k 4 KEEPTTL"}},
		{"INCRBYFLOAT k 0.5", []string{"0 SET k 4.5 KEEPTTL"}},
		{"INCR k", nil},
		{"GETEX k", nil},
		{"GETEX k PERSIST", []string{"0 PERSIST k"}},
		{"GETEX k PERSIST", nil},
		{"GETEX k PX 5000", []string{"0 PEXPIREAT k " + at}},
		{"GETEX k PXAT 1", []string{"0 DEL k"}},
		{"GETEX k PXAT 1", nil},
		{"GETDEL k", nil},
		{"SETNX k a", []string{"0 SET k a"}},
		{"SETNX k b", nil},
		{"PSETEX k 5000 b", []string{"0 SET k b PXAT " + at}},
		{"GETSET k c", []string{"0 SET k c"}},
		{"APPEND k d", []string{"0 APPEND k d"}},
		{"SETRANGE k 3 e", []string{"0 SETRANGE k 3 e"}},
		{"GETDEL k", []string{"0 DEL k"}},
		{"APPEND k d", []string{"0 SET k d"}},
		{"MSET a 1 b 2", []string{"0 SET a 1", "0 SET b 2"}},
		{"MSETNX c 1 b 2", nil},
		{"MSETNX c 1 d 2", []string{"0 SET c 1", "0 SET d 2"}},
		{"SET k v PXAT 1", []string{"0 DEL k"}},
	} {
		f.do(strings.Fields(c.call)...)
		require.Equal(t, c.effects, f.effects(), c.call)
	}
}

func TestStringTooBig(t *testing.T) {
	f := newStrings(t)
	f.settings.MaxStringBytes = 10
	tooBig := "-" + ErrStringTooBig.Error()
	f.want("10", "SETRANGE", "k", "7", "abc")
	f.want(tooBig, "SETRANGE", "k", "8", "abc")
	f.want(tooBig, "SETRANGE", "none", "8", "abc")
	f.want("10", "APPEND", "k", "")
	f.want(tooBig, "APPEND", "k", "a")
	f.want("+OK", "SET", "k", "12345")
	f.want("10", "APPEND", "k", "12345")
	f.want("0", "EXISTS", "none")
}

// TestHitsAndMisses: commands that only write count neither as a hit nor as a miss; those that return a value
// do.
func TestHitsAndMisses(t *testing.T) {
	for _, c := range []struct {
		call         string
		hits, misses int64
	}{
		{"EXISTS k x", 1, 1}, {"TYPE k", 1, 0}, {"TTL x", 0, 1}, {"OBJECT ENCODING k", 1, 0}, {"STRLEN k", 1, 0},
		{"SETNX k v", 0, 0}, {"INCR n", 0, 0}, {"GETSET x v", 0, 1}, {"GETDEL k", 1, 0}, {"GETEX k PERSIST", 1, 0},
		{"SET k v GET", 1, 0}, {"SET k v NX", 0, 0}, {"COPY k m", 1, 0}, {"COPY x m", 0, 1}, {"RENAME k m", 0, 0},
		{"TOUCH k x", 1, 1}, {"MGET k x", 1, 1}, {"DEL k x", 0, 0}, {"EXPIRE k 10", 0, 0}, {"PERSIST k", 0, 0},
		{"APPEND k v", 0, 0}, {"SETRANGE k 1 v", 0, 0}, {"LCS k x", 1, 1}, {"MOVE k 1", 0, 0}, {"SCAN 0", 0, 0},
		{"INCRBYFLOAT n 1", 0, 0}, {"MSETNX k v", 0, 0}, {"RANDOMKEY", 0, 0},
	} {
		f := newStrings(t)
		f.do("MSET", "k", "v", "n", "1")
		f.store.ResetStats()
		f.do(strings.Fields(c.call)...)
		require.Equal(t, []int64{c.hits, c.misses}, []int64{f.store.Stats().Hits, f.store.Stats().Misses}, c.call)
	}
}

// TestHotStringsDoNotAllocate: the frequent commands allocate only the data that they store.
func TestHotStringsDoNotAllocate(t *testing.T) {
	for _, c := range []struct {
		call   string
		allocs float64
	}{
		{"GET k", 0}, {"STRLEN k", 0}, {"GETRANGE k 0 1", 0}, {"EXISTS k", 0}, {"TTL k", 0}, {"TYPE k", 0},
		{"MGET k k k", 0}, {"SET k v", 1}, {"SET k v KEEPTTL", 1}, {"SET k v PX 5000 XX", 1}, {"SET k v NX", 0},
		{"INCR n", 1}, {"DECRBY n 10", 1}, {"SETRANGE r 0 x", 0}, {"EXPIRE k 100", 0}, {"PERSIST k", 0},
	} {
		f := newStrings(t)
		f.do("MSET", "k", "v", "n", "100", "r", "text")
		require.Equal(t, c.allocs, f.allocsOf(strings.Fields(c.call)...), c.call)
	}
}

func TestSetKeys(t *testing.T) {
	table := NewTable(StringRows())
	for call, flags := range map[string]KeyFlags{
		"SET k v": OW | Update, "SET k v NX EX 10": OW | Update, "SET k v get": RW | Access | Update,
	} {
		refs, err := table.KeyRefs(table.Lookup([]byte("set")), words(strings.Fields(call)...), nil)
		require.NoError(t, err)
		require.Equal(t, []KeyRef{{1, flags}}, refs, call)
	}
}

func TestCutRangeNeverPanics(t *testing.T) {
	f := newStrings(t)
	f.do("SET", "k", "abcde")
	for start := -7; start <= 7; start++ {
		for end := -7; end <= 7; end++ {
			v := f.do("GETRANGE", "k", fmt.Sprint(start), fmt.Sprint(end))
			require.Equal(t, resp.Bulk, v.Kind)
			require.Contains(t, "abcde", v.Str)
		}
	}
}

func BenchmarkSetGetIncr(b *testing.B) {
	f := newStrings(b)
	f.store.Record(false)
	f.store.SetObserver(nil)
	f.do("MSET", "k", "v", "n", "1")
	for _, call := range []string{"GET k", "SET k v", "SET k v EX 100", "INCR n"} {
		b.Run(call, func(b *testing.B) {
			argv := words(strings.Fields(call)...)
			c := f.client(1).context(argv, nil)
			b.ReportAllocs()
			for b.Loop() {
				c.Out.Rollback(0)
				row, err := f.table.Resolve(argv)
				if err == nil {
					c.Row = row
					err = row.Run(c)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
