package dict

import "unsafe"

const (
	// headerBytes is the size of a dict without entries: its header, a page and its first pointers.
	headerBytes = 256
	// entryBytes is the size of an entry without its slot. That is its cell in the index, with the spare
	// that segments have, the length of its key, and the allocator's rounding of the key.
	entryBytes = 9 + 4
)

// AddWeight adds to the weight of the dict, for values stored by pointer: their owner knows their weight.
func (d *Dict[V]) AddWeight(bytes int) { d.weight += bytes }

// Size returns about the size of the dict in bytes, including its keys and the weight of AddWeight. It
// depends only on the entries, not on the history of changes. O(1).
func (d *Dict[V]) Size() int {
	return headerBytes + d.n*(int(unsafe.Sizeof(slot[V]{}))+entryBytes) + d.weight
}
