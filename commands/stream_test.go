package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/store/stream"
)

func TestStreamScript(t *testing.T) {
	playScript(t, "testdata/stream.script", StreamRows, StringRows, CommandRows)
}

// TestGeneratedStreamIDs: the IDs of XADD with * follow the clock, and never go back. There is no comparison
// with Redis, because its clock does not stand still.
func TestGeneratedStreamIDs(t *testing.T) {
	f := newFixture(t, StreamRows)
	f.want(`"1700000000000-0"`, "XADD", "s", "*", "a", "b")
	f.want(`"1700000000000-1"`, "XADD", "s", "*", "a", "b")
	f.advance(1)
	f.want(`"1700000000001-0"`, "XADD", "s", "*", "a", "b")
	f.want(`"1700000000002-5"`, "XADD", "s", "1700000000002-5", "a", "b") // ahead of the clock
	f.want(`"1700000000002-6"`, "XADD", "s", "*", "a", "b")
	f.want(`"1700000000002-18446744073709551615"`, "XADD", "s", "1700000000002-18446744073709551615", "a", "b")
	f.want(`"1700000000003-0"`, "XADD", "s", "*", "a", "b")
	f.want(`"1700000000001-0"`, "XADD", "t", "MAXLEN", "~", "5", "*", "a", "b")
	f.want(`"1700000000001-1"`, "XADD", "t", "1700000000001-*", "a", "b")
}

// TestReadLastEntry is newer than the Redis that made the script: "+" reads the last entry (7.4), if it is
// not deleted.
func TestReadLastEntry(t *testing.T) {
	f := newFixture(t, StreamRows)
	f.want(`*nil`, "XREAD", "STREAMS", "s", "+")
	f.do("XADD", "s", "1", "a", "1")
	f.do("XADD", "s", "2", "a", "2")
	f.do("XADD", "s", "3", "a", "3")
	f.want(`[["s" [["3-0" ["a" "3"]]]]]`, "XREAD", "STREAMS", "s", "+")
	f.do("XDEL", "s", "3")
	f.want(`*nil`, "XREAD", "STREAMS", "s", "+")
	f.want(`[["s" [["1-0" ["a" "1"]] ["2-0" ["a" "2"]]]]]`, "XREAD", "STREAMS", "s", "s", "0", "+")
	f.do("XDEL", "s", "1", "2")
	f.want(`*nil`, "XREAD", "STREAMS", "s", "+")
	waiter := f.client(2)
	require.Zero(t, waiter.do("XREAD", "BLOCK", "0", "STREAMS", "s", "+"))
	f.do("XADD", "s", "4", "a", "4")
	require.Equal(t, `[["s" [["4-0" ["a" "4"]]]]]`, waiter.answer().String())
}

// TestReadWithoutAckIsNoActivity: as in Redis 7.4.1, an XREADGROUP with NOACK does not end a consumer's
// inactivity. Comparisons with Redis do not show that, because they leave out times.
func TestReadWithoutAckIsNoActivity(t *testing.T) {
	f := newFixture(t, StreamRows)
	f.do("XADD", "s", "1", "a", "b")
	f.do("XGROUP", "CREATE", "s", "g", "0")
	f.want(`[["s" [["1-0" ["a" "b"]]]]]`, "XREADGROUP", "GROUP", "g", "c", "NOACK", "STREAMS", "s", ">")
	f.advance(5)
	f.want(`[["name" "c" "pending" 0 "idle" 5 "inactive" -1]]`, "XINFO", "CONSUMERS", "s", "g")
	f.do("XADD", "s", "2", "a", "b")
	f.want(`[["s" [["2-0" ["a" "b"]]]]]`, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
	f.want(`[["name" "c" "pending" 1 "idle" 0 "inactive" 0]]`, "XINFO", "CONSUMERS", "s", "g")
}

func TestStreamHelp(t *testing.T) {
	f := newFixture(t, StreamRows)
	help := f.do("XINFO", "HELP")
	require.Equal(t, resp.Array, help.Kind)
	require.Contains(t, help.String(), "+STREAM <key> [FULL [COUNT <count>]]")
}

// TestHugeEntry: an entry of more than a gigabyte is refused as a whole, and creates no key.
func TestHugeEntry(t *testing.T) {
	f := newFixture(t, StreamRows)
	big := make([]byte, stream.MaxEntryBytes/4) // never written, so it only needs addresses
	argv := append(words("XADD", "s", "1"), big, big, big, big, []byte("x"), []byte("y"))
	require.Equal(t, "-"+string(ErrStreamEntry), f.client(1).run(argv).String())
	f.want(`0`, "XLEN", "s")
}

// TestStreamAllocations: an XADD allocates only for the stream, not for the call.
func TestStreamAllocations(t *testing.T) {
	f := newFixture(t, StreamRows)
	for range 50 {
		f.do("XADD", "s", "*", "userId", "1", "voucherId", "2")
	}
	require.Zero(t, f.allocsOf("XADD", "s", "*", "userId", "1", "voucherId", "2"))
	require.Zero(t, f.allocsOf("XLEN", "s"))
	one := f.allocsOf("XRANGE", "s", "-", "+", "COUNT", "1")
	require.Equal(t, one, f.allocsOf("XRANGE", "s", "-", "+", "COUNT", "40"), "allocates for each entry")
}

func FuzzStreamID(f *testing.F) {
	for _, s := range []string{"1-2", "5-*", "(3", "-", "+", " 7- -3", "18446744073709551615-18446744073709551615", "1-\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		id, ok := parseStreamID(text, 7)
		if ok {
			again, ok := parseStreamID(id.AppendTo(nil), 0)
			require.True(t, ok)
			require.Equal(t, id, again)
			newID, autoSeq, ok := parseNewStreamID(text)
			require.True(t, ok)
			require.False(t, autoSeq)
			require.Equal(t, id.MS, newID.MS)
			require.LessOrEqual(t, len(text), maxIDBytes)
		}
		bound, exclusive, okBound := parseBound(text, 7)
		if ok && !exclusive {
			require.True(t, okBound)
			require.Equal(t, id, bound)
		}
		if exclusive {
			require.True(t, strings.HasPrefix(before, "("))
		}
		require.Equal(t, before, string(text), "the argument was written to")
	})
}
