package zset

const (
	// headerBytes is a ZSet, and what the allocator rounds its bytes up by.
	headerBytes = 48 + 16
	// itemBytes is what a member takes in the tree: an item, in leaves that are two thirds full, and
	// its share of what stands above them.
	itemBytes = 24*3/2 + 4
	// treeBytes is a table without members, its dict aside.
	treeBytes = 64
)

// Size returns about how many bytes the sorted set takes. It depends on what is in it
// alone, and on its form. O(1).
func (z *ZSet) Size() int {
	n := headerBytes + len(z.lp)
	if z.table != nil {
		n += treeBytes + z.table.scores.Size() + itemBytes*z.table.order.n
	}
	return n
}
