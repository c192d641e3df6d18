package dict

import (
	"math/bits"
	"slices"
)

// A cell is a tag in the upper and a slot in the lower 32 bits.
const empty = ^uint64(0) // no entry has it: slot 2^32-1 is never given out

const (
	// maxCells bounds a segment, and so the work of any one insert: 8 KB. The
	// slowest inserts of ten million took half as long as with 2048 cells and a
	// third as long as with 4096.
	maxCells = 1024
	// A segment is rebuilt larger beyond 27/32 (84 %) of its homes: above that
	// the runs that Robin Hood placement has to shift grow quickly.
	fullNum, fullDen = 27, 32
	// Two buddies merge when together they would fill 3/8 of the largest
	// segment, which is far from where it would split again.
	mergeMax = maxCells * 3 / 8
	// seek looks at so many cells at once; spill is never less.
	window = 8
)

func cellOf(tag uint32, slot int) uint64 { return uint64(tag)<<32 | uint64(uint32(slot)) }
func tagOf(cell uint64) uint32           { return uint32(cell >> 32) }
func slotOf(cell uint64) int             { return int(uint32(cell)) }

// segment holds the cells of all tags that share their first depth bits.
//
// Invariants (checked by check): the cells that are not empty are in ascending
// order of tag; each stands at or after its home with no empty cell between;
// the last cell is always empty, so that every walk ends without a bound, and a
// window of cells stands behind every home.
type segment struct {
	cells []uint64
	homes uint32 // the first homes cells are homes, the rest takes what spills over
	n     uint32 // cells in use
	limit uint32 // n at which the segment is rebuilt
	depth uint8  // leading bits that all its tags have in common
}

// newSegment returns an empty segment with room for n cells and some more.
func newSegment(depth uint8, n int) *segment {
	s := &segment{depth: depth}
	s.alloc(n)
	return s
}

// alloc gives the segment empty cells for n entries at two thirds (small ones:
// half) of its homes, rounded up to what the allocator hands out anyway.
func (s *segment) alloc(n int) {
	homes := n + n/2 + 1
	if n < 256 {
		homes = 2 * n
	}
	spill := window + homes/128 // at 84 % load one in some hundred segments spills further
	want := min(homes+spill, maxCells)
	cells := slices.Grow([]uint64(nil), want)
	cells = cells[:min(cap(cells), maxCells)]
	for i := range cells {
		cells[i] = empty
	}
	s.cells = cells
	s.homes = uint32(len(cells) - spill)
	s.limit = s.homes * fullNum / fullDen
	s.n = 0
}

// home returns the cell where the search for a tag begins. It does not fall as
// the tag rises.
func (s *segment) home(tag uint32) int {
	return int(uint64(tag<<s.depth) * uint64(s.homes) >> 32)
}

// pack appends cells that are in tag order and not below those packed before.
// next is where the previous call ended, 0 at first.
func (s *segment) pack(src []uint64, next int) int {
	for _, c := range src {
		if c == empty {
			continue
		}
		next = max(next, s.home(tagOf(c)))
		if next >= len(s.cells)-1 {
			s.extend()
		}
		s.cells[next] = c
		s.n++
		next++
	}
	return next
}

// extend adds cells behind the last. It is the last resort for tags that
// collide more than a random hash makes likely: lookups then get slower, but
// nothing breaks and no memory explodes.
func (s *segment) extend() {
	more := len(s.cells)/4 + 4
	for range more {
		s.cells = append(s.cells, empty)
	}
	s.limit = max(s.limit, s.n+uint32(more))
}

// resize rebuilds the segment for n entries, n >= s.n.
func (s *segment) resize(n int) {
	old := s.cells
	s.alloc(n)
	s.pack(old, 0)
}

// seek returns the first cell at or after a tag's home that does not hold a
// smaller tag: there the tag's cells begin, if there are any. How far that is
// from home no processor can predict, so the usual distances are counted
// without a branch; empty counts as the largest tag.
func (s *segment) seek(tag uint32) int {
	at, want := s.home(tag), uint64(tag)<<32
	w := (*[window]uint64)(s.cells[at:])
	n := below(w[0], want) + below(w[1], want) + below(w[2], want) + below(w[3], want) +
		below(w[4], want) + below(w[5], want) + below(w[6], want) + below(w[7], want)
	at += int(n)
	if n == window {
		for s.cells[at] < want {
			at++
		}
	}
	return at
}

// below returns 1 if a < b, else 0.
func below(a, b uint64) uint64 {
	_, borrow := bits.Sub64(a, b, 0)
	return borrow
}

// insert adds a cell. It reports false, with nothing changed, when the segment
// has to be made larger first.
func (s *segment) insert(tag uint32, slot int) bool {
	if s.n >= s.limit {
		return false
	}
	cells := s.cells
	i := s.seek(tag)
	end := i
	for cells[end] != empty {
		end++
	}
	if end == len(cells)-1 {
		return false
	}
	copy(cells[i+1:end+1], cells[i:end])
	cells[i] = cellOf(tag, slot)
	s.n++
	return true
}

// locate returns where the cell of an entry stands, or -1.
func (s *segment) locate(tag uint32, slot int) int {
	want := cellOf(tag, slot)
	for i := s.seek(tag); s.cells[i] != empty && tagOf(s.cells[i]) == tag; i++ {
		if s.cells[i] == want {
			return i
		}
	}
	return -1
}

// removeAt takes out cell i and moves the rest of its run back by one, up to
// the first cell that stands at its home.
func (s *segment) removeAt(i int) {
	cells := s.cells
	end := i + 1
	for cells[end] != empty && s.home(tagOf(cells[end])) < end {
		end++
	}
	copy(cells[i:end-1], cells[i+1:end])
	cells[end-1] = empty
	s.n--
}

// sparse reports whether the segment wastes more than half of what it takes.
func (s *segment) sparse() bool {
	return len(s.cells) > 32 && s.n < s.homes*3/8
}
