package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A producer's message is added once, whatever way it comes: in a transaction, from a script, under a lock,
// after a reload. It is forgotten at its time, even if no command looks.
func TestProducedOnce(t *testing.T) {
	clock := NewManualClock(time.UnixMilli(1_700_000_000_000))
	srv := start(t, Options{Clock: clock, Dir: t.TempDir(), Directives: map[string]string{
		"enable-debug-command": "yes", "stream-idmp-duration": "9", "appendonly": "yes"}})
	c := client(t, srv)
	c.Do("MULTI")
	for range 2 {
		c.Do("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
	}
	first := c.Do("EXEC").Elems
	require.Equal(t, first[0], first[1])
	again := func() {
		t.Helper()
		require.Equal(t, first[0].Str, c.Do("EVAL", "return redis.call('xadd', KEYS[1], 'IDMP', 'p', 'm', '*', 'f', 'v')", "1", "s").Str)
		token := c.Do("LOCK", "door", "me", "PX", "5000")
		require.Positive(t, token.Int)
		require.Equal(t, first[0].Str, c.Do("GUARD", "door", token.String(), "XADD", "s", "IDMP", "p", "m", "*", "f", "v").Str)
		require.Equal(t, int64(1), c.Do("UNLOCK", "door", "me").Int)
		require.Equal(t, int64(1), c.Do("XLEN", "s").Int)
	}
	again()
	require.Equal(t, "+OK", c.Do("DEBUG", "RELOAD").String())
	again()
	require.Equal(t, "+OK", c.Do("DEBUG", "LOADAOF").String())
	again()
	used := infoField(t, c, "used_memory_dataset")
	clock.Advance(9000 * time.Millisecond)
	again()
	clock.Advance(time.Millisecond)
	require.NotEqual(t, used, infoField(t, c, "used_memory_dataset"))
	require.Contains(t, c.Do("XINFO", "STREAM", "s").String(), `"pids-tracked" 0 "iids-tracked" 0 "iids-added" 1`)
	require.NotEqual(t, first[0], c.Do("XADD", "s", "IDMP", "p", "m", "*", "f", "v"))
}
