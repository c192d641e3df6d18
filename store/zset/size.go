package zset

import "lockserver/store/piece"

const (
	// itemBytes is the size of a member in the tree: an item, in leaves that are five sixths full, and its
	// share of the inner nodes.
	itemBytes = 16*6/5 + 4
	// treeBytes is the size of a table without members, and without its dict.
	treeBytes = 64
)

// Size returns about the size of the sorted set in bytes. It depends only on its content and form. O(1).
func (z *ZSet) Size() int {
	if t := z.table(); t != nil {
		return treeBytes + t.scores.Size() + itemBytes*t.order.n
	}
	return (piece.HeadBytes + len(z.lp()) + 15) &^ 15
}
