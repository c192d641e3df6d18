package zset

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// leavesOf returns the number of leaves below a node, and their capacity in items.
func (n *node) leavesOf() (leaves, capacity int) {
	if n.children == nil {
		return 1, cap(n.items)
	}
	for i := range n.children {
		below, has := n.children[i].node.leavesOf()
		leaves, capacity = leaves+below, capacity+has
	}
	return leaves, capacity
}

// TestLeavesAreFull: leaves are nearly full, for any order of inserts. All leaves of a large tree have the
// same capacity, so each can use the memory of a removed one.
func TestLeavesAreFull(t *testing.T) {
	const n = 60_000
	for name, order := range map[string]struct {
		score func(i int) int
		least float64 // the least share of the capacity that holds items
	}{
		"rising":         {func(i int) int { return i }, 0.99},
		"falling":        {func(i int) int { return -i }, 0.85},
		"rising rounds":  {func(i int) int { return i % 6000 }, 0.8},
		"falling rounds": {func(i int) int { return -i % 6000 }, 0.8},
		"mixed":          {func(i int) int { return i * 7919 % 60_013 }, 0.78},
	} {
		t.Run(name, func(t *testing.T) {
			z := newZSet()
			for i := range n {
				z.Set(limits, strconv.AppendInt(nil, int64(i), 10), float64(order.score(i)))
			}
			require.NoError(t, z.check())
			leaves, capacity := z.table().order.root.leavesOf()
			t.Logf("%.1f items in a leaf", float64(n)/float64(leaves))
			require.GreaterOrEqual(t, float64(n)/float64(capacity), order.least)
			require.InDelta(t, maxItems*leaves, capacity, stepsBelow)
		})
	}
}
