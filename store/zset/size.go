package zset

import "lockserver/store/piece"

const (
	// itemBytes is what a member takes in the tree: an item, in leaves that are five sixths full, and
	// its share of what stands above them.
	itemBytes = 16*6/5 + 4
	// treeBytes is a table without members, its dict aside.
	treeBytes = 64
)

// Size returns about how many bytes the sorted set takes. It depends on what is in it
// alone, and on its form. O(1).
func (z *ZSet) Size() int {
	if t := z.table(); t != nil {
		return treeBytes + t.scores.Size() + itemBytes*t.order.n
	}
	return (piece.HeadBytes + len(z.lp()) + 15) &^ 15
}
