package script

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestMemory: what is counted for machines, scripts and libraries is not far from what the heap grows by, and
// nothing is counted when they have gone.
func TestMemory(t *testing.T) {
	h := newTestHost(t)
	require.Zero(t, h.engine.Memory())
	before := testkit.Heap()
	grew := func(what string, counted int) {
		t.Helper()
		heap := testkit.Heap()
		require.InDelta(t, 1, float64(counted)/float64(heap-before), 0.35, "%s: counted %d, heap %d", what, counted, heap-before)
		before = heap
	}
	h.do("SCRIPT", "LOAD", "return 1")
	h.do("EVAL", "return 1", "0")
	grew("the machine", h.engine.Memory().Machine)
	for i := range 50 {
		h.do("SCRIPT", "LOAD", fmt.Sprintf("return redis.call('get', KEYS[1]) or %d", i))
	}
	grew("scripts", h.engine.Memory().Scripts)
	scripts := h.engine.Memory().Scripts
	h.do("EVAL", strings.Repeat("local a = redis.call('get', KEYS[1]) ", 50), "0")
	require.Greater(t, h.engine.Memory().Scripts, scripts+50*2*len("local a = redis.call('get', KEYS[1]) "))

	h.do("FUNCTION", "LOAD", "#!lua name=first\nredis.register_function('first', function() return 1 end)")
	grew("the machine of functions", h.engine.Memory().FunctionMachine)
	for i := range 50 {
		require.NotContains(t, h.do("FUNCTION", "LOAD", fmt.Sprintf("#!lua name=l%d\nredis.register_function('f%d', function(keys) return redis.call('get', keys[1]) end)", i, i)), "-")
	}
	grew("libraries", h.engine.Memory().Libraries)
	one := h.engine.Memory().Libraries
	h.do("FUNCTION", "DELETE", "l1")
	require.Less(t, h.engine.Memory().Libraries, one)
	runtime.KeepAlive(h)

	h.do("SCRIPT", "FLUSH")
	h.do("FUNCTION", "FLUSH")
	require.Zero(t, h.engine.Memory())
}
