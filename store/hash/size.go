package hash

const (
	// headerBytes is a Hash, and what the allocator rounds a listpack up by.
	headerBytes = 32 + 16
	// timesBytes and timedBytes are what deadlines take: for a hash that ever had
	// one, and for each that it has.
	timesBytes = 96
	timedBytes = 64
)

// Size returns about how many bytes the hash takes. It depends on what is in it alone, and on its form. O(1).
func (h *Hash) Size() int {
	n := headerBytes + len(h.lp())
	if t := h.table(); t != nil {
		n += t.Size()
	}
	if h.times != nil {
		n += timesBytes + timedBytes*h.times.len()
	}
	return n
}
