package stats

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
)

// TestMemory: what keys take adds up to what is used, and the other subcommands answer.
func TestMemory(t *testing.T) {
	a := newAsker(t)
	a.do("SET s " + strings.Repeat("x", 1000) + " EX 1000")
	a.do("HSET h f v")
	a.do("RPUSH l a b")
	sum := int64(0)
	for _, key := range []string{"s", "h", "l"} {
		sum += a.ask("MEMORY USAGE " + key + " SAMPLES 0").Int
	}
	require.Equal(t, int64(a.store.Used()), sum)
	require.Greater(t, a.ask("MEMORY USAGE s").Int, int64(1000))
	require.Less(t, a.ask("MEMORY USAGE s").Int, int64(1300))
	require.Equal(t, "nil", a.do("MEMORY USAGE gone"))
	for _, words := range []string{"s SAMPLES", "s SAMPLES -1", "s BAD 1"} {
		require.Equal(t, "-ERR syntax error", a.do("MEMORY USAGE "+words), words)
	}
	require.Equal(t, "-ERR value is not an integer or out of range", a.do("MEMORY USAGE gone SAMPLES x"))
	require.Equal(t, "+OK", a.do("MEMORY PURGE"))
	require.Contains(t, a.do("MEMORY DOCTOR"), "Nothing stands out.")
	a.store.SetMemory(store.Memory{MaxBytes: 1, Policy: store.NoEviction}, a.rand)
	require.Contains(t, a.do("MEMORY DOCTOR"), "more than maxmemory allows (1)")
	require.Contains(t, a.do("MEMORY MALLOC-STATS"), "heap: ")
	facts := a.ask("MEMORY STATS")
	for i := 0; i < len(facts.Elems); i += 2 {
		if facts.Elems[i].Str == "keys.count" {
			require.Equal(t, int64(3), facts.Elems[i+1].Int)
			return
		}
	}
	require.Fail(t, "no keys.count", "%s", facts)
}
