package dict

// index maps tags to slots by extendible hashing. The zero value is "no index".
//
// Invariants (checked by check): len(dir) is a power of two, 1<<(32-shift); a segment of depth d is in
// 1<<(32-shift-d) adjacent entries; deepest counts the segments with one entry only.
type index struct {
	dir     []*segment
	shift   uint8 // a tag belongs to dir[tag>>shift]
	deepest int   // 0 while dir has one entry: it cannot be halved
}

// dirPerEntry limits the directory: one pointer for this many entries. With a random hash there is one
// pointer for 430 to 860 entries. Only tags that collide in masses reach the limit, and they must not make
// the directory grow without end.
const dirPerEntry = 64

// mostExpected is the expected number of entries of a new segment. It is so far below the limit that hardly
// any segment overflows.
const mostExpected = maxCells * 23 / 32

// newIndex returns an empty index for about n entries.
func newIndex(n int) index {
	depth := uint8(0)
	for n>>depth > mostExpected {
		depth++
	}
	x := index{dir: make([]*segment, 1<<depth), shift: 32 - depth}
	if depth > 0 {
		x.deepest = len(x.dir)
	}
	for i := range x.dir {
		x.dir[i] = newSegment(depth, (n-1)>>depth+1)
	}
	return x
}

// segment returns the segment that a tag belongs to.
func (x *index) segment(tag uint32) *segment { return x.dir[uint64(tag)>>x.shift] }

// depth returns how many leading bits of a tag choose the directory entry.
func (x *index) depth() uint8 { return 32 - x.shift }

// insert adds an entry; total is the number of entries in the whole index.
func (x *index) insert(tag uint32, slot, total int) {
	for {
		s := x.segment(tag)
		if s.insert(tag, slot) {
			return
		}
		x.grow(s, tag, total)
	}
}

// grow makes space in a segment in the cheapest possible way.
func (x *index) grow(s *segment, tag uint32, total int) {
	switch {
	case !s.holds(total - 1):
		if s.depth == x.depth() {
			x.double() // a directory entry for 65536 entries of the index is less than dirPerEntry allows
		}
		x.split(s, tag)
	case s.cells.len() < maxCells:
		// A segment may also be short of space because its end is crowded: then sizing it by n alone would
		// not make it larger.
		s.resize(max(int(s.n)+1, int(s.homes)*3/4))
	case s.depth < x.depth():
		x.split(s, tag)
	case len(x.dir) <= total/dirPerEntry:
		x.double()
		x.split(s, tag)
	default:
		s.extend()
	}
}

// span returns the directory entries of a segment that tag belongs to.
func (x *index) span(s *segment, tag uint32) (from, to int) {
	width := 1 << (x.depth() - s.depth)
	from = int(uint64(tag)>>x.shift) &^ (width - 1)
	return from, from + width
}

// split divides a segment that has two directory entries or more.
func (x *index) split(s *segment, tag uint32) {
	from, to := x.span(s, tag)
	old, end := *s, s.cells.len()
	cut, left := end, int(s.n) // the cells are in tag order: the halves are a prefix and a suffix
	right := 0
	for cut > 0 {
		c := old.cells.at(cut - 1)
		if c>>(8*cellBytes-1) == 0 { // the first bit that differs between tags of the segment
			break
		}
		cut--
		if c != empty {
			right++
		}
	}
	left -= right
	s.depth++
	s.alloc(left)
	s.pack(&old, 0, cut, 0, 0)
	other := newSegment(s.depth, right)
	other.pack(&old, cut, end, 0, 0)
	for i := (from + to) / 2; i < to; i++ {
		x.dir[i] = other
	}
	if s.depth == x.depth() {
		x.deepest += 2
	}
}

// double doubles the directory: each segment gets twice the directory entries.
func (x *index) double() {
	dir := make([]*segment, 2*len(x.dir))
	for i, s := range x.dir {
		dir[2*i], dir[2*i+1] = s, s
	}
	x.dir = dir
	x.shift--
	x.deepest = 0
}

// move records that the entry of a tag has moved from one slot to another.
func (x *index) move(tag uint32, from, to int) {
	s := x.segment(tag)
	i := s.locate(tag, from)
	if i < 0 {
		panic("dict: the moved entry is not in the index")
	}
	s.cells.put(i, s.cell(tag, to))
}

// remove removes an entry, and frees memory when enough entries are gone. total is the number of entries
// before.
func (x *index) remove(tag uint32, slot, total int) {
	s := x.segment(tag)
	i := s.locate(tag, slot)
	if i < 0 {
		panic("dict: the deleted entry is not in the index")
	}
	s.removeAt(i)
	// Looking at the buddy costs a cache miss, so it is not done on every removal.
	if s.n <= mergeMax && s.n%16 == 0 && x.merge(s, tag, total) {
		return
	}
	if s.sparse() {
		s.resize(int(s.n))
	}
}

// merge unites a segment with its buddy if they are small enough together.
func (x *index) merge(s *segment, tag uint32, total int) bool {
	if s.depth == 0 || uint64(total) > lastSlot(s.depth-1) {
		return false
	}
	bit := uint32(1) << (32 - s.depth)
	buddy := x.segment(tag ^ bit)
	if buddy.depth != s.depth || s.n+buddy.n > mergeMax {
		return false
	}
	if s.depth == x.depth() {
		x.deepest -= 2
	}
	low, high := s, buddy
	if tag&bit != 0 {
		low, high = buddy, s
	}
	below, above := *low, *high
	s.depth--
	s.alloc(int(below.n + above.n))
	next := s.pack(&below, 0, below.cells.len(), 0, 0)
	s.pack(&above, 0, above.cells.len(), bit, next)
	from, to := x.span(s, tag)
	for i := from; i < to; i++ {
		x.dir[i] = s
	}
	for x.deepest == 0 && len(x.dir) > 1 {
		x.halve()
	}
	return true
}

// halve halves the directory; no segment may be at full depth.
func (x *index) halve() {
	dir := make([]*segment, len(x.dir)/2)
	x.shift++
	for i := range dir {
		dir[i] = x.dir[2*i]
		if dir[i].depth == x.depth() && len(dir) > 1 {
			x.deepest++
		}
	}
	x.dir = dir
}
