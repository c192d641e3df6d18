package commands

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// walk runs a whole scan, from cursor 0 to cursor 0, and returns how often each value came.
func walk(f *fixture, call []string, options ...string) (seen map[string]int, calls int) {
	f.t.Helper()
	seen = map[string]int{}
	for cursor := "0"; ; {
		reply := f.do(append(append(call[:len(call):len(call)], cursor), options...)...)
		require.Len(f.t, reply.Elems, 2)
		for _, s := range bulks(reply.Elems[1]) {
			seen[s]++
		}
		calls++
		if cursor = reply.Elems[0].Str; cursor == "0" {
			return seen, calls
		}
		require.Less(f.t, calls, 10_000, "the scan does not end")
	}
}

func TestHScanWalksALargeHash(t *testing.T) {
	f := newFixture(t, HashRows)
	const size = 1234
	fillHash(f, "h", size)
	for _, c := range []struct {
		options []string
		calls   int
	}{{nil, 124}, {fields("COUNT 100"), 13}, {fields("COUNT 1"), size}, {fields("COUNT 9223372036854775807"), 1}} {
		seen, calls := walk(f, fields("HSCAN h"), c.options...)
		require.Equal(t, c.calls, calls)
		require.Len(t, seen, 2*size)
		for i := range size {
			require.Equal(t, 1, seen["f"+strconv.Itoa(i)])
			require.Equal(t, 1, seen[strconv.Itoa(i)])
		}
	}
}

// TestHScanWithoutValues: NOVALUES is newer than the Redis that made the scripts.
func TestHScanWithoutValues(t *testing.T) {
	f := newFixture(t, HashRows)
	f.want("2", fields("HSET h a 1 b 2")...)
	seen, _ := walk(f, fields("HSCAN h"), "NOVALUES")
	require.Equal(t, map[string]int{"a": 1, "b": 1}, seen)
	seen, _ = walk(f, fields("HSCAN h"), fields("novalues MATCH b")...)
	require.Equal(t, map[string]int{"b": 1}, seen)
	fillHash(f, "large", 1000)
	seen, _ = walk(f, fields("HSCAN large"), fields("MATCH f99* NOVALUES COUNT 37")...)
	require.Len(t, seen, 11)
}
