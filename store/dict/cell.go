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
// below 2^(16+d)-1. Random tags do not come near that limit: of so many entries 65536 would belong to it.
// With others it is split before it is full.
const (
	cellBytes = 6
	slotBits  = 16 // at depth 0
	// A cell is read with one load of eight bytes, as its upper six. So two bytes precede the first cell.
	before = 8 - cellBytes
)

// empty is the cell of no entry: its slot is never given out.
const empty = 1<<(8*cellBytes) - 1

// lastSlot is the highest number that fits into a cell at a depth. No entry has it there.
func lastSlot(depth uint8) uint64 { return 1<<(slotBits+depth&31) - 1 }

// first returns the lowest cell of a tag.
func first(tag uint32, depth uint8) uint64 { return uint64(tag<<(depth&31)) << slotBits }

// cells is a row of cells.
type cells []byte

// newCells returns at least so many empty cells: as many as fit into what the allocator hands out, up to
// maxCells.
func newCells(n int) cells {
	row := slices.Grow(cells(nil), n*cellBytes+before)
	row = row[:min((cap(row)-before)/cellBytes, maxCells)*cellBytes+before]
	row.clear(0)
	return row
}

// noCells are the bytes of empty ones.
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

// move copies the cells from from up to end to the place of cell to.
func (c cells) move(to, from, end int) {
	copy(c[to*cellBytes+before:], c[from*cellBytes+before:end*cellBytes+before])
}

// extend returns the row with so many empty cells more.
func (c cells) extend(more int) cells {
	n := c.len()
	row := append(c, make(cells, more*cellBytes)...)
	row.clear(n)
	return row
}

// near are the cells of a window.
type near [before + window*cellBytes]byte

// window returns the cells from the i-th on.
func (c cells) window(i int) *near { return (*near)(c[i*cellBytes:]) }

// below returns 1 if a cell is below another by its tag, else 0.
func (w *near) below(i int, of uint64) uint64 {
	_, borrow := bits.Sub64(binary.LittleEndian.Uint64(w[i*cellBytes:]), of<<(8*before), 0)
	return borrow
}
