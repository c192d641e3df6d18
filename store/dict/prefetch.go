package dict

import "unsafe"

// MaxPrefetch is the limit of keys in a Prefetch.
const MaxPrefetch = 128

// ahead is a batch of addresses that are read together. The processor continues after a load that waits for
// memory, but only for some 250 instructions. So all addresses of one step are collected first, and then read
// in a loop without other work: all loads of the batch run at once.
type ahead struct {
	at [MaxPrefetch]unsafe.Pointer
	n  int
}

func (a *ahead) add(p unsafe.Pointer) {
	a.at[a.n] = p
	a.n++
}

// read reads a byte at each address, which brings its line into the processor's caches, and empties the
// batch.
func (a *ahead) read() (sum uint64) {
	for _, p := range a.at[:a.n] {
		sum += uint64(*(*byte)(p))
	}
	a.n = 0
	return sum
}

// Prefetch reads the memory that look-ups of these hashes, at most MaxPrefetch, will read: index cells, slots
// with their sides, and the beginnings of keys. It reads all addresses of one kind before the next kind. In a
// large dict each read is a cache miss, and a single look-up waits for one miss after the other. Here the
// processor waits for many at once. slots has len(hashes) elements; each becomes the slot of a hash if its
// tag is known, else -1. beside, if not nil, returns the memory that a value points to, which is read as
// well.
//
// The result is a meaningless sum of the bytes read, so that no compiler leaves the reading out.
func (d *Dict[V]) Prefetch(hashes []uint64, slots []int, beside func(v *V) unsafe.Pointer) (sum uint64) {
	if d.index.dir == nil {
		return 0
	}
	var next ahead
	sum = d.readCells(&next, hashes)
	for i, h := range hashes {
		tag := uint32(h >> 32)
		s := d.index.segment(tag)
		slots[i] = -1
		if slot, ok := s.match(s.seek(tag), tag); ok {
			slots[i] = slot
			next.add(unsafe.Pointer(d.chunk(slot)))
		}
	}
	if next.n == 0 {
		return sum
	}
	for _, p := range next.at[:next.n] { // its header may lie in two lines of the cache
		c := (*chunk[V])(p)
		sum += uint64(len(c.slots)) + c.stamp
	}
	next.n = 0
	slots = slots[:len(hashes)]
	sum += d.readSlots(&next, slots)
	for _, at := range slots {
		if at >= 0 {
			next.add(unsafe.Pointer(d.slot(at).key))
		}
	}
	var values ahead
	for _, at := range slots {
		if at < 0 {
			continue
		}
		if p := beside(&d.slot(at).val); p != nil {
			values.add(p)
		}
	}
	return sum + next.read() + values.read()
}

// readCells reads segments, and where the cells of these hashes begin and end.
func (d *Dict[V]) readCells(next *ahead, hashes []uint64) (sum uint64) {
	for _, h := range hashes {
		next.add(unsafe.Pointer(d.index.segment(uint32(h >> 32))))
	}
	for _, p := range next.at[:next.n] { // a segment may lie in two lines of the cache
		s := (*segment)(p)
		sum += uint64(len(s.cells)) + uint64(s.depth)
	}
	next.n = 0
	for _, h := range hashes {
		tag := uint32(h >> 32)
		s := d.index.segment(tag)
		next.add(unsafe.Pointer(s.cells.window(s.home(tag))))
	}
	for _, p := range next.at[:next.n] {
		w := (*near)(p)
		sum += uint64(w[0]) + uint64(w[len(w)-1])
	}
	next.n = 0
	return sum
}

// readSlots reads slots and their sides. It leaves out negative slots. A slot may span two cache lines, with
// its key in the second.
func (d *Dict[V]) readSlots(next *ahead, slots []int) (sum uint64) {
	for _, at := range slots {
		if at >= 0 {
			next.add(unsafe.Pointer(d.slot(at)))
		}
	}
	for _, p := range next.at[:next.n] {
		sum += uint64(*(*byte)(p)) + uint64(uintptr(unsafe.Pointer((*slot[V])(p).key)))
	}
	next.n = 0
	for _, slot := range slots {
		if slot < 0 {
			continue
		}
		number, at := place(slot)
		if c := &d.pages[number>>pageBits].chunks[number&pageMask]; c.sides != nil {
			next.add(unsafe.Pointer(&c.sides[at]))
		}
	}
	return sum + next.read()
}

// PrefetchLast reads the memory that removing n entries also needs: the last entries move to the free slots,
// and the index is updated for them. The result has the same meaning as that of Prefetch.
func (d *Dict[V]) PrefetchLast(n int) (sum uint64) {
	if d.index.dir == nil {
		return 0
	}
	var next ahead
	var hashes [MaxPrefetch]uint64
	n = min(n, MaxPrefetch, d.n)
	for i := range n {
		next.add(unsafe.Pointer(d.slot(d.n - 1 - i).key))
	}
	sum = next.read()
	for i := range n {
		hashes[i] = d.HashString(d.slot(d.n - 1 - i).key.String())
	}
	return sum + d.readCells(&next, hashes[:n])
}

// prefetchFrom is the number of entries from which on a dict does not fit the processor's nearer caches.
const prefetchFrom = 4096

// LargeEnough reports whether look-ups are likely to wait for memory, so that prefetching is worth its cost.
func (d *Dict[V]) LargeEnough() bool { return d.Len() >= prefetchFrom }

// PrefetchKeys does what Prefetch does, for at most MaxPrefetch keys that will be looked up soon. In a small
// dict it does nothing.
func (d *Dict[V]) PrefetchKeys(keys [][]byte, beside func(v *V) unsafe.Pointer) (sum uint64) {
	if !d.LargeEnough() {
		return 0
	}
	var hashes [MaxPrefetch]uint64
	var slots [MaxPrefetch]int
	for i, key := range keys {
		hashes[i] = d.Hash(key)
	}
	return d.Prefetch(hashes[:len(keys)], slots[:len(keys)], beside)
}
