package hash

import "lockserver/store/piece"

const (
	// fullBytes is the header of a hash that is not one piece, and what the allocator rounds its listpack up
	// by.
	fullBytes = 48 + 8
	// timesBytes and timedBytes are what deadlines take: for a hash that ever had
	// one, and for each that it has.
	timesBytes = 96
	timedBytes = 64
)

// Size returns about how many bytes the hash takes. It depends on what is in it alone, and on its form.
// O(1).
func (h *Hash) Size() int {
	if h.head.Packed() {
		return (piece.HeadBytes + len(h.lp()) + 15) &^ 15
	}
	f := h.full()
	n := fullBytes + len(f.lp)
	if f.table != nil {
		n += f.table.Size()
	}
	if f.times != nil {
		n += timesBytes + timedBytes*f.times.len()
	}
	return n
}
