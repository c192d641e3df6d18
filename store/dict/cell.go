package dict

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

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
