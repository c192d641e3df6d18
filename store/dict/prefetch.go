package dict

import "unsafe"

// Prefetch reads what the look-ups of these hashes are going to read (index cells, slots, the beginning of
// keys), all of one kind after the other. In a large dict each of these is a cache miss that a single
// look-up has to wait for before it knows where to look next; here the processor waits for many at once.
// slots is room for len(hashes) numbers and returns a slot for each hash whose tag is known, else -1.
// touch reads what the values point to.
//
// The result is nothing but a sum of what was read, so that no compiler leaves the reading out.
func (d *Dict[V]) Prefetch(hashes []uint64, slots []int, touch func(v *V) uint64) (sum uint64) {
	if d.index.dir == nil {
		return 0
	}
	for _, h := range hashes {
		tag := uint32(h >> 32)
		s := d.index.segment(tag)
		at := s.home(tag)
		sum += s.cells[at] + s.cells[at+window-1]
	}
	for i, h := range hashes {
		tag := uint32(h >> 32)
		s := d.index.segment(tag)
		slots[i] = -1
		if c := s.cells[s.seek(tag)]; tagOf(c) == tag && c != empty {
			slots[i] = slotOf(c)
			sum += uint64(uintptr(unsafe.Pointer(d.slot(slotOf(c)).key)))
		}
	}
	for _, at := range slots[:len(hashes)] {
		if at < 0 {
			continue
		}
		s := d.slot(at)
		sum += uint64(s.key.first) + touch(&s.val)
	}
	return sum
}

// PrefetchLast reads what taking so many entries out is going to read besides: the last entries take the
// places of the others, and the index has to be told. The result is as that of Prefetch.
func (d *Dict[V]) PrefetchLast(n int) (sum uint64) {
	if d.index.dir == nil {
		return 0
	}
	var tags [MaxPrefetch]uint32
	n = min(n, MaxPrefetch, d.n)
	for i := range n {
		sum += uint64(d.slot(d.n - 1 - i).key.first)
	}
	for i := range n {
		tags[i] = uint32(d.HashString(d.slot(d.n-1-i).key.String()) >> 32)
	}
	for _, tag := range tags[:n] {
		s := d.index.segment(tag)
		sum += s.cells[s.home(tag)]
	}
	return sum
}

// MaxPrefetch is how many keys one PrefetchKeys takes.
const MaxPrefetch = 128

// prefetchFrom is the number of entries from which on a dict is too large for the processor's nearer caches.
const prefetchFrom = 4096

// LargeEnough reports whether look-ups are likely to wait for memory, so that prefetching is worth its cost.
func (d *Dict[V]) LargeEnough() bool { return d.Len() >= prefetchFrom }

// PrefetchKeys is Prefetch for at most MaxPrefetch keys whose look-ups are about to come; in a
// small dict it does nothing.
func (d *Dict[V]) PrefetchKeys(keys [][]byte, touch func(v *V) uint64) (sum uint64) {
	if !d.LargeEnough() {
		return 0
	}
	var hashes [MaxPrefetch]uint64
	var slots [MaxPrefetch]int
	for i, key := range keys {
		hashes[i] = d.Hash(key)
	}
	return d.Prefetch(hashes[:len(keys)], slots[:len(keys)], touch)
}
