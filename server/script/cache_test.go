package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCache: EVAL of what is known compiles nothing, what came with EVAL goes when there is too much of it,
// what SCRIPT LOAD has loaded stays (D63).
func TestCache(t *testing.T) {
	h := newTestHost(t)
	cache := &h.engine.cache
	pinned, first, second := shaText([]byte("return 'pinned'")), shaText([]byte("return 'first'")), shaText([]byte("return 'second'"))
	require.Equal(t, `"`+pinned+`"`, h.do("SCRIPT", "LOAD", "return 'pinned'"))
	require.Equal(t, `"first"`, h.do("EVAL", "return 'first'", "0"))
	code := cache.bySHA[first].code
	require.Equal(t, `"first"`, h.do("EVAL", "return 'first'", "0"))
	require.Same(t, code, cache.bySHA[first].code)
	require.Equal(t, `"first"`, h.do("EVALSHA", strings.ToUpper(first), "0"))
	require.Equal(t, `"second"`, h.do("EVAL", "return 'second'", "0"))
	for i := range maxEvictableScripts - 1 {
		require.NotContains(t, h.do("EVAL", "return "+strings.Repeat("1", i%5+1)+strings.Repeat(" ", i/5), "0"), "-")
		if i == 100 {
			require.Equal(t, `"first"`, h.do("EVALSHA", first, "0"), "it is used again")
		}
	}
	require.Equal(t, "[1 1 0]", h.do("SCRIPT", "EXISTS", pinned, first, second))
	require.Equal(t, maxEvictableScripts, cache.evictable)
	require.Len(t, cache.byBody, maxEvictableScripts+1)
	for range 40 {
		body := "return #ARGV --" + strings.Repeat("x", 1<<20-1) + strings.Repeat(" ", cache.evictable)
		require.Equal(t, "0", h.do("EVAL", body, "0"))
	}
	require.LessOrEqual(t, cache.evictableBytes, maxEvictableBytes)
	require.Equal(t, "[1]", h.do("SCRIPT", "EXISTS", pinned))
	require.Equal(t, `"`+first+`"`, h.do("SCRIPT", "LOAD", "return 'first'"))
	require.Equal(t, "+OK", h.do("SCRIPT", "FLUSH"))
	require.Equal(t, "[0 0]", h.do("SCRIPT", "EXISTS", pinned, first))
	require.Equal(t, "-NOSCRIPT No matching script. Please use EVAL.", h.do("EVALSHA", pinned, "0"))
	require.Zero(t, cache.evictable+cache.evictableBytes)
}
