package dict

import "unsafe"

const (
	// headerBytes is what a dict takes without entries: its header, a page and its first pointers.
	headerBytes = 256
	// entryBytes is the size of an entry without its slot. That is its cell in the index, with the spare
	// that segments have, the length of its key, and the allocator's rounding of the key.
	entryBytes = 9 + 4
)

// AddWeight adds to what the dict weighs: values that are kept by pointer weigh what their owner says.
func (d *Dict[V]) AddWeight(bytes int) { d.weight += bytes }

// Size returns about how many bytes the dict takes, its keys and what AddWeight has added included. It
// depends on the entries alone, not on how they came to be there. O(1).
func (d *Dict[V]) Size() int {
	return headerBytes + d.n*(int(unsafe.Sizeof(slot[V]{}))+entryBytes) + d.weight
}
