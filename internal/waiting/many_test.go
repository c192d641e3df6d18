package waiting

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// When a hundred thousand owners have permits, a wait, a search for a deadlock and a grant look only at the
// owners that wait, and never at all holders.
func TestManyHoldersAreNotVisited(t *testing.T) {
	const holders, waiters = 100_000, 8
	w := newTable()
	visited, asked := 0, 0
	w.qs = New(1, Locks{Kind: w.kind,
		Find: func(_ int, key string) Lock { return Lock{Holders: len(w.at(key).holds), Limit: holders} },
		Held: func(db int, key, owner string) int32 {
			asked++
			return w.held(db, key, owner)
		},
		EachHolder: func(db int, key string, visit func(owner []byte, units int32) bool) {
			w.eachHolder(db, key, func(owner []byte, units int32) bool {
				visited++
				return visit(owner, units)
			})
		}})
	pool := w.at("pool")
	pool.limit = holders
	for i := range holders {
		pool.holds[fmt.Sprint("owner", i)] = &hold{permits: 1}
	}
	for i := range waiters {
		owner := fmt.Sprint("owner", i) // the owner has a permit, and wants one more
		require.Equal(t, "waits", w.begin(&call{name: owner, keys: []string{"pool"}, owner: owner, permits: 1}))
	}
	require.Empty(t, w.endUnit())
	for i := range waiters {
		require.True(t, w.release("pool", fmt.Sprint("owner", holders-1-i), false, 1))
		require.Equal(t, []string{fmt.Sprintf("owner%d is granted", i)}, w.endUnit())
	}
	require.Zero(t, visited, "holders")
	require.Positive(t, asked)
	// After each change, each waiter asks about each waiting owner.
	require.LessOrEqual(t, asked, 10*waiters*waiters*waiters)
}
