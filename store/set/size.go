package set

// headerBytes is a Set, and what the allocator rounds its bytes up by.
const headerBytes = 64 + 16

// Size returns about how many bytes the set takes. It depends on what is in it alone, and on its form. O(1).
func (s *Set) Size() int {
	n := headerBytes + len(s.compact)
	if s.table != nil {
		n += s.table.Size()
	}
	return n
}
