package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestKeyScript: the replies in testdata/key.script are those of redis-server 7.4.1.
func TestKeyScript(t *testing.T) {
	playScript(t, "testdata/key.script", StringRows, KeyRows)
}

// TestKeyspaceScript: the replies in testdata/keyspace.script are those of redis-server 7.4.1.
func TestKeyspaceScript(t *testing.T) {
	playScript(t, "testdata/keyspace.script", StringRows, KeyRows, KeyspaceRows)
}

func newKeys(t testing.TB) *fixture { return newFixture(t, StringRows, KeyRows, KeyspaceRows) }

func TestTTLRounds(t *testing.T) {
	f := newKeys(t)
	for _, c := range []struct {
		leftMS int64
		ttl    int64
	}{{1, 0}, {499, 0}, {500, 1}, {1499, 1}, {1500, 2}, {100_000, 100}} {
		f.do("SET", "k", "v", "PX", fmt.Sprint(c.leftMS))
		require.Equal(t, c.leftMS, f.do("PTTL", "k").Int)
		require.Equal(t, c.ttl, f.do("TTL", "k").Int, "%d ms", c.leftMS)
		require.Equal(t, f.nowMS+c.leftMS, f.do("PEXPIRETIME", "k").Int)
	}
}

func TestIdletime(t *testing.T) {
	f := newKeys(t)
	f.do("SET", "k", "v")
	f.advance(90_000)
	f.want("90", "OBJECT", "IDLETIME", "k")
	for _, call := range []string{"EXISTS k", "TYPE k", "TTL k", "OBJECT ENCODING k"} {
		f.do(strings.Fields(call)...)
		f.want("90", "OBJECT", "IDLETIME", "k")
	}
	f.do("TOUCH", "k")
	for _, call := range []string{"GET k", "TOUCH k", "APPEND k x", "SET k v", "MGET k"} {
		f.advance(5_000)
		f.want("5", "OBJECT", "IDLETIME", "k")
		f.do(strings.Fields(call)...)
		f.want("0", "OBJECT", "IDLETIME", "k")
	}
}

func TestKeyEffects(t *testing.T) {
	f := newKeys(t)
	at := func(ms int64) string { return fmt.Sprint(f.nowMS + ms) }
	f.do("MSET", "a", "1", "b", "2", "c", "3")
	f.effects()
	for _, c := range []struct {
		call    string
		effects []string
	}{
		{"EXPIRE a 5", []string{"0 PEXPIREAT a " + at(5000)}},
		{"EXPIRE a 5 NX", nil},
		{"PEXPIRE none 5", nil},
		{"PERSIST a", []string{"0 PERSIST a"}},
		{"PERSIST a", nil},
		{"RENAME a a", nil},
		{"RENAME a d", []string{"0 RENAME a d"}},
		{"RENAMENX b c", nil},
		{"RENAMENX b e", []string{"0 RENAME b e"}},
		{"COPY e c", nil},
		{"COPY e c REPLACE", []string{"0 COPY e c DB 0 REPLACE"}},
		{"COPY e e DB 3", []string{"0 COPY e e DB 3 REPLACE"}},
		{"MOVE c 2", []string{"0 MOVE c 2"}},
		{"MOVE e 3", nil},
		{"EXPIRE d -1", []string{"0 DEL d"}},
		{"DEL e none", []string{"0 DEL e"}},
		{"TOUCH e", nil},
		{"FLUSHDB", []string{"0 FLUSHDB"}},
		{"FLUSHALL ASYNC", []string{"0 FLUSHALL"}},
		{"SWAPDB 1 2", []string{"1 SWAPDB 1 2"}},
		{"SWAPDB 2 2", nil},
	} {
		f.do(strings.Fields(c.call)...)
		require.Equal(t, c.effects, f.effects(), c.call)
	}
}

func TestExpiredKeyIsAnEffect(t *testing.T) {
	f := newKeys(t)
	f.do("SET", "a", "1", "PX", "10")
	f.do("SET", "b", "1", "PX", "20")
	f.effects()
	f.advance(15)
	require.Equal(t, []string{"0 DEL a"}, f.effects())
	f.want("1", "DBSIZE")
}

// TestScanSeesWhatStays: a key that exists from the start of a scan to its end is reported, whatever other
// keys come and go.
func TestScanSeesWhatStays(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	f := newKeys(t)
	for i := range 500 {
		f.do("SET", fmt.Sprintf("stay:%d", i), "v")
		f.do("SET", fmt.Sprintf("go:%d", i), "v")
	}
	seen := map[string]bool{}
	cursor, calls := "0", 0
	for {
		v := f.do("SCAN", cursor, "COUNT", fmt.Sprint(1+r.IntN(30)), "MATCH", "stay:*", "TYPE", "string")
		require.Len(t, v.Elems, 2)
		for _, key := range v.Elems[1].Elems {
			require.True(t, strings.HasPrefix(key.Str, "stay:"), key.Str)
			seen[key.Str] = true
		}
		if cursor = v.Elems[0].Str; cursor == "0" {
			break
		}
		calls++
		for range 5 {
			f.do("DEL", fmt.Sprintf("go:%d", r.IntN(500)))
			f.do("SET", fmt.Sprintf("go:%d", r.IntN(500)), "v")
		}
	}
	require.Greater(t, calls, 10)
	require.Len(t, seen, 500)
}

func TestScanOfAnyCursor(t *testing.T) {
	f := newKeys(t)
	for i := range 30 {
		f.do("SET", fmt.Sprint(i), "v")
	}
	for _, cursor := range []string{"1", "29", "30", "31", "9223372036854775808", "18446744073709551615", "-18446744073709551615", "+7"} {
		v := f.do("SCAN", cursor, "COUNT", "1000")
		require.Equal(t, "0", v.Elems[0].Str, cursor)
		require.LessOrEqual(t, len(v.Elems[1].Elems), 30)
	}
}

func TestParseCursor(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "00": 0, "-0": 0, "+12": 12, " 9": 9, "\t 9": 9, "7\x00 8": 7,
		"18446744073709551615": 1<<64 - 1, "-18446744073709551615": 1, "000000000000000000000000000007": 7} {
		n, ok := parseCursor([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"+", "-", "", "-1", "--1", "+-1", "1 ", "0x1", "18446744073709551616", "a"} {
		_, ok := parseCursor([]byte(text))
		require.False(t, ok, text)
	}
}

func TestKeysMatches(t *testing.T) {
	f := newKeys(t)
	f.do("MSET", "hello", "", "hallo", "", "hxllo", "", "h*llo", "", "", "")
	for pattern, want := range map[string]string{
		"*": " h*llo hallo hello hxllo", "h[ae]llo": "hallo hello", `h\*llo`: "h*llo", "": "", "x": "",
		"h?llo": "h*llo hallo hello hxllo", "h[^e]llo": "h*llo hallo hxllo",
	} {
		var got []string
		for _, key := range f.do("KEYS", pattern).Elems {
			got = append(got, key.Str)
		}
		slices.Sort(got)
		require.Equal(t, want, strings.Join(got, " "), pattern)
	}
}

func TestRandomkeyIsFair(t *testing.T) {
	f := newKeys(t)
	for i := range 10 {
		f.do("SET", fmt.Sprint(i), "v")
	}
	for i := range 5 {
		f.do("PEXPIRE", fmt.Sprint(i), "10")
	}
	f.nowMS += 11
	f.store.SetNow(f.nowMS * 1000)
	counts := map[string]int{}
	for range 1000 {
		counts[f.do("RANDOMKEY").Str]++
	}
	require.Len(t, counts, 5, "%v", counts)
	for key, n := range counts {
		require.Greater(t, key, "4")
		require.InDelta(t, 200, n, 80)
	}
	f.want("5", "DBSIZE")
}

func TestObjectHelp(t *testing.T) {
	f := newKeys(t)
	v := f.do("OBJECT", "HELP")
	require.Equal(t, resp.Array, v.Kind)
	require.Contains(t, v.String(), "+ENCODING <key>")
	f.want("-ERR wrong number of arguments for 'object|help' command", "OBJECT", "HELP", "x")
}

// TestDeadlinesMoveWithKeys: after flushes and swaps of databases, deadlines are still those of their keys.
func TestDeadlinesMoveWithKeys(t *testing.T) {
	f := newKeys(t)
	f.do("SET", "a", "v", "PX", "10")
	f.do("SET", "b", "v", "PX", "30")
	f.do("SET", "c", "v", "PX", "30")
	f.do("RENAME", "a", "a2")
	f.do("MOVE", "b", "1")
	f.do("COPY", "c", "c", "DB", "2")
	f.do("SWAPDB", "1", "2")
	f.want("+OK", "SET", "d", "v", "PX", "10")
	f.advance(11)
	f.want("1", "DBSIZE")
	f.client(2).db = f.store.DB(2)
	f.client(2).want("19", "PTTL", "b")
	f.client(3).db = f.store.DB(1)
	f.client(3).want("19", "PTTL", "c")
	f.do("FLUSHDB")
	f.advance(20)
	f.client(2).want("0", "DBSIZE")
	f.client(3).want("0", "DBSIZE")
	_, any := f.store.NextDeadlineMS()
	require.False(t, any)
}
