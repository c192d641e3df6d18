package dict

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	// maxCells limits a segment, and so the work of an insert: 6 KB, a size class of the allocator. The
	// slowest inserts of ten million took half as long as with twice this size, and a third as long as with
	// four times this size.
	maxCells = (6144 - before) / cellBytes
	// A segment is rebuilt larger beyond 27/32 (84 %) of its homes: above that
	// the runs that Robin Hood placement has to shift grow quickly.
	fullNum, fullDen = 27, 32
	// Two buddies merge when together they would fill 3/8 of the largest
	// segment, which is far from where it would split again.
	mergeMax = maxCells * 3 / 8
	// seek compares this many cells at once; spill is never less.
	window = 8
)

// segment holds the cells of all tags that share their first depth bits.
//
// Invariants (checked by check): the cells that are not empty are in ascending order of tag. Each is at or
// after its home with no empty cell between. The last cell is always empty, so that every walk ends without a
// bound. A window of cells follows every home.
type segment struct {
	cells cells
	homes uint32 // the first homes cells are homes, the rest takes what spills over
	n     uint32 // the first homes cells are homes, the others take the overflow
	limit uint32 // n at which the segment is rebuilt
	depth uint8  // leading bits that all its tags have in common
}

// newSegment returns an empty segment with space for n cells and some more.
func newSegment(depth uint8, n int) *segment {
	s := &segment{depth: depth}
	s.alloc(n)
	return s
}

// alloc gives the segment empty cells for n entries at two thirds of its homes (small segments: half),
// rounded up to the allocator's size class.
func (s *segment) alloc(n int) {
	homes := n + n/2 + 1
	if n < 256 {
		homes = 2 * n
	}
	spill := window + homes/128 // at 84 % load one in some hundred segments spills further
	s.cells = newCells(min(homes+spill, maxCells))
	s.homes = uint32(s.cells.len() - spill)
	s.limit = s.homes * fullNum / fullDen
	s.n = 0
}

// home returns the cell where the search for a tag begins. It does not fall as
// the tag rises.
func (s *segment) home(tag uint32) int {
	return int(uint64(tag<<(s.depth&31)) * uint64(s.homes) >> 32)
}

// cell returns the cell of an entry.
func (s *segment) cell(tag uint32, slot int) uint64 { return first(tag, s.depth) | uint64(slot) }

// tag returns the tag of a cell, with zeros for the bits that all tags of the segment have in common.
func (s *segment) tag(cell uint64) uint32 { return uint32(cell>>slotBits) >> (s.depth & 31) }

// match returns the slot of cell i if its tag is this one.
func (s *segment) match(i int, tag uint32) (slot int, ok bool) {
	c, below := s.cells.at(i), (slotBits+s.depth)&63
	return int(c & (1<<below - 1)), (c^first(tag, s.depth))>>below == 0 && c != empty
}

// pack appends cells [from, to) of another segment, or of this segment before, which are in tag order and not
// below the cells packed before. lead holds the common bits of all their tags. next is the result of the
// previous call, 0 at first.
func (s *segment) pack(of *segment, from, to int, lead uint32, next int) int {
	for i := from; i < to; i++ {
		c := of.cells.at(i)
		if c == empty {
			continue
		}
		tag := lead | of.tag(c)
		next = max(next, s.home(tag))
		if s.cells.ends(next) {
			s.extend()
		}
		s.cells.put(next, s.cell(tag, int(c&lastSlot(of.depth))))
		s.n++
		next++
	}
	return next
}

// extend adds cells after the last. It is the last resort for tags that collide more than a random hash makes
// likely: look-ups then become slower, but nothing breaks and the memory stays limited.
func (s *segment) extend() {
	more := s.cells.len()/4 + 4
	s.cells = s.cells.extend(more)
	s.limit = max(s.limit, s.n+uint32(more))
}

// resize rebuilds the segment for n entries, n >= s.n.
func (s *segment) resize(n int) {
	old := *s
	s.alloc(n)
	s.pack(&old, 0, old.cells.len(), 0, 0)
}

// seek returns the first cell at or after a tag's home that does not hold a smaller tag: the tag's cells
// begin there, if there are any. Processors cannot predict how far that cell is from home, so the usual
// distances are counted without a branch. empty counts as the largest tag.
func (s *segment) seek(tag uint32) int {
	at, want := s.home(tag), first(tag, s.depth)
	w := s.cells.window(at)
	n := w.below(0, want) + w.below(1, want) + w.below(2, want) + w.below(3, want) +
		w.below(4, want) + w.below(5, want) + w.below(6, want) + w.below(7, want)
	at += int(n)
	if n == window {
		for s.cells.at(at) < want {
			at++
		}
	}
	return at
}

// holds reports whether a slot is low enough for a cell of the segment.
func (s *segment) holds(slot int) bool { return uint64(slot) < lastSlot(s.depth) }

// insert adds a cell. It returns false, with nothing changed, when the segment must first be made larger or
// split.
func (s *segment) insert(tag uint32, slot int) bool {
	if s.n >= s.limit || !s.holds(slot) {
		return false
	}
	i := s.seek(tag)
	end := i
	for s.cells.at(end) != empty {
		end++
	}
	if s.cells.ends(end) {
		return false
	}
	s.cells.move(i+1, i, end)
	s.cells.put(i, s.cell(tag, slot))
	s.n++
	return true
}

// locate returns the index of an entry's cell, or -1.
func (s *segment) locate(tag uint32, slot int) int {
	for i := s.seek(tag); ; i++ {
		switch at, ok := s.match(i, tag); {
		case !ok:
			return -1
		case at == slot:
			return i
		}
	}
}

// removeAt removes cell i and moves the rest of its run back by one, up to the first cell that is at its
// home.
func (s *segment) removeAt(i int) {
	end := i + 1
	for {
		if c := s.cells.at(end); c == empty || s.home(s.tag(c)) >= end {
			break
		}
		end++
	}
	s.cells.move(i, i+1, end)
	s.cells.put(end-1, empty)
	s.n--
}

// sparse reports whether the segment wastes more than half of its memory.
func (s *segment) sparse() bool {
	return s.cells.len() > 32 && s.n < s.homes*3/8
}

// A cell is the index's six bytes for an entry. It holds the tag without its first bits and the slot. The
// depth of the segment says how many bits are left out: all tags of the segment have them in common.
//
//	47                             16+depth            0
//	+------------------------------+-------------------+
//	| tag, its last 32-depth bits  | slot              |
//	+------------------------------+-------------------+
//
// So the whole tag is known, and a larger index has more bits for slots. A segment of depth d can hold slots
// below 2^(16+d)-1. Random tags do not come near that limit: with 2^(16+d) entries a segment would have 65536
// of them. With other tags it is split before it is full.
const (
	cellBytes = 6
	slotBits  = 16 // at depth 0
	// A cell is read with one load of eight bytes, as its upper six. So two bytes precede the first cell.
	before = 8 - cellBytes
)

// empty is a cell without an entry: its slot number is never used.
const empty = 1<<(8*cellBytes) - 1

// lastSlot returns the highest slot number of a cell at a depth. No entry has that number there.
func lastSlot(depth uint8) uint64 { return 1<<(slotBits+depth&31) - 1 }

// first returns the lowest cell of a tag.
func first(tag uint32, depth uint8) uint64 { return uint64(tag<<(depth&31)) << slotBits }

// cells is a row of cells.
type cells []byte

// newCells returns at least n empty cells: as many as fit into the allocator's size class, up to maxCells.
func newCells(n int) cells {
	row := slices.Grow(cells(nil), n*cellBytes+before)
	row = row[:min((cap(row)-before)/cellBytes, maxCells)*cellBytes+before]
	row.clear(0)
	return row
}

// noCells holds the bytes of empty cells.
var noCells = bytes.Repeat([]byte{0xff}, before+maxCells*cellBytes)

// clear empties the cells from the i-th on.
func (c cells) clear(i int) {
	for rest := c[i*cellBytes:]; len(rest) > 0; {
		rest = rest[copy(rest, noCells):]
	}
}

func (c cells) len() int { return (len(c) - before) / cellBytes }

// ends reports whether cell i is the last.
func (c cells) ends(i int) bool { return before+(i+1)*cellBytes == len(c) }

func (c cells) at(i int) uint64 { return binary.LittleEndian.Uint64(c[i*cellBytes:]) >> (8 * before) }

func (c cells) put(i int, cell uint64) {
	b := (*[8]byte)(c[i*cellBytes:])
	binary.LittleEndian.PutUint32(b[before:], uint32(cell))
	binary.LittleEndian.PutUint16(b[before+4:], uint16(cell>>32))
}

// move copies the cells in [from, end) to the cell to and those after it.
func (c cells) move(to, from, end int) {
	copy(c[to*cellBytes+before:], c[from*cellBytes+before:end*cellBytes+before])
}

// extend returns the row with more empty cells at its end.
func (c cells) extend(more int) cells {
	n := c.len()
	row := append(c, make(cells, more*cellBytes)...)
	row.clear(n)
	return row
}

// near is a window of cells.
type near [before + window*cellBytes]byte

// window returns the cells from the i-th on.
func (c cells) window(i int) *near { return (*near)(c[i*cellBytes:]) }

// below returns 1 if cell i is below another cell by its tag, else 0.
func (w *near) below(i int, of uint64) uint64 {
	_, borrow := bits.Sub64(binary.LittleEndian.Uint64(w[i*cellBytes:]), of<<(8*before), 0)
	return borrow
}
