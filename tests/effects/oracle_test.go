//go:build oracle

package effects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/testkit"
)

// TestRedisReplaysTheSameData: a plain Redis understands every effect and comes to the same data.
func TestRedisReplaysTheSameData(t *testing.T) {
	seed := seedOf(t)
	c := testkit.StartRedis(t).Client(t)
	for round := range uint64(rounds) {
		data, effects := record(t, seed+round, false)
		require.Equal(t, "+OK", c.Do("FLUSHALL").String())
		require.Empty(t, data.Diff(replay(t, c, effects), 0), "lockserver | redis")
	}
}
