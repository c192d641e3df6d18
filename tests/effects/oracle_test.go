//go:build oracle

package effects

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/tests/shrink"
	"lockserver/tests/testkit"
)

// TestRedisReplaysTheSameData: a plain Redis accepts every effect and gets the same data.
func TestRedisReplaysTheSameData(t *testing.T) {
	seed := seedOf(t)
	c := testkit.StartRedis(t).Client(t)
	differ := func(data testkit.Dataset, effects []store.Effect) []string {
		require.Equal(t, "+OK", c.Do("FLUSHALL").String())
		again, refused := replay(c, effects)
		return append(refused, data.Diff(again, 0)...)
	}
	for round := range uint64(rounds) {
		r := record(t, seed+round, false, nil)
		if diff := differ(r.data, r.effects); len(diff) > 0 {
			t.Fatalf("lockserver | redis\n%s", r.explain(t, diff, differ, shrink.Limits{Time: shrinkTime}))
		}
	}
}
