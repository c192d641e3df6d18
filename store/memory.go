package store

// The memory of the data, as one running sum. Each container knows its own size in O(1), which depends only
// on its content. A mutator reads the size before and after, and charges the difference to the space that
// holds the key. The cost of the key itself is charged by insert, delete, setDeadline and dropDeadline. Sizes
// are approximately the bytes of Go's allocator; docs/MEMORY.md compares them with the heap.

const (
	// keyBytes is the size of a key without its name and its value. That is a slot (24), a cell of the index
	// with spare (12), and the spare slots of the last chunks.
	keyBytes = 24 + 12 + 4
	// deadlineBytes is what a deadline takes: its place beside the slot, and its part of a bound.
	deadlineBytes = 8 + 1
	// lockRecordBytes is the approximate size of the value of SetLockRecord: locks in adjacent slots share a
	// piece.
	lockRecordBytes = 8
	// growableBytes is a string that is written to in place, without its bytes.
	growableBytes = 32
)

// Used returns about how many bytes the data takes. With what SetBeside says it is what SetMemory bounds.
func (s *Store) Used() int { return s.used }

// Overhead returns the part of Used that is neither names nor values: the tables of the keys, and of their
// deadlines.
func (db *DB) Overhead() (keys, deadlines int) {
	return keyBytes * db.Len(), deadlineBytes * db.Timed()
}

// Weight returns about how many bytes a key takes, its name, its value and its deadline: its part of Used.
func (r Ref) Weight(key []byte) int {
	n := keyBytes + named(len(key)) + r.v.size()
	if r.atMS != 0 {
		n += deadlineBytes
	}
	return n
}

// charge adds to what the space takes.
func (sp *space) charge(bytes int) {
	sp.used += bytes
	sp.store.used += bytes
}

// named is what the allocator gives for a key of so many bytes, about: see dict.Key.
func named(n int) int { return (n + 1 + 7) &^ 7 }

// rounded is what the allocator gives for so many bytes, about.
func rounded(n int) int { return (n + 15) &^ 15 }

// size returns what the value takes, without its deadline.
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
