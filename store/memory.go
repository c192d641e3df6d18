package store

// The memory of the data, as one running sum. Each container knows its own size in O(1), which depends only
// on its content. A mutator reads the size before and after, and charges the difference to the space that
// holds the key. The cost of the key itself is charged by insert, delete, setDeadline and dropDeadline. Sizes
// are approximately the bytes of Go's allocator; docs/MEMORY.md compares them with the heap.

const (
	// keyBytes is the size of a key without its name and its value. That is a slot (24), a cell of the index
	// with spare (12), and the spare slots of the last chunks.
	keyBytes = 24 + 12 + 4
	// deadlineBytes is the size of a deadline: its entry beside the slot, and its part of a bound.
	deadlineBytes = 8 + 1
	// lockRecordBytes is the approximate size of the value of SetLockRecord: locks in adjacent slots share a
	// piece.
	lockRecordBytes = 8
	// growableBytes is the size of a string that is written to in place, without its bytes.
	growableBytes = 32
)

// Weight returns the approximate size in bytes of a key with its name, its value and its deadline: its part
// of Used.
func (r Ref) Weight(key []byte) int {
	n := keyBytes + named(len(key)) + r.v.size()
	if r.atMS != 0 {
		n += deadlineBytes
	}
	return n
}

// named returns the approximate number of bytes that the allocator uses for a key of n bytes: see dict.Key.
func named(n int) int { return (n + 1 + 7) &^ 7 }

// rounded returns the approximate number of bytes that the allocator uses for n bytes.
func rounded(n int) int { return (n + 15) &^ 15 }

// size returns the size of the value in bytes, without its deadline.
func (v *value) size() int {
	if v.tag() == String { // first: most values are
		return rounded(int(v.meta & maxInline))
	}
	return v.sizeOfOther()
}

func (v *value) sizeOfOther() int {
	switch v.tag() {
	case text, unshared, state:
		return rounded(int(v.meta & maxInline))
	case buffer:
		return v.growable().size()
	case Hash:
		return v.hash().Size()
	case Set:
		return v.set().Size()
	case List:
		return v.list().Size()
	case ZSet:
		return v.zset().Size()
	case Stream:
		return v.stream().Size()
	case Bloom:
		return v.bloom().Size()
	default:
		return 0
	}
}

func (g *growable) size() int { return growableBytes + rounded(len(g.b)) }
