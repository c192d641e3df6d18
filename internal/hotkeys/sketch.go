package hotkeys

import (
	"cmp"
	"slices"
)

const (
	// Counters is how many keys survive when the table is full.
	Counters = 1024
	most     = 2 * Counters // counters at a time
	places   = 2 * most     // of the table, a power of two
	// mostText is how many bytes of a key are kept.
	mostText = 256
)

// Sketch is the sums of the heaviest keys. The zero value is empty.
type Sketch struct {
	// Total is the sum of all weights.
	Total int64
	// Error is the most by which a sum can be too low.
	Error int64

	table   []counter // open addressing by hash; a counter with sum 0 is free
	used    int
	scratch []int64
	left    []counter
}

type counter struct {
	hash uint64
	sum  int64
	db   int32
	key  []byte // empty: it has been seen once only
}

// Add adds a weight of a key of a database; hash is a hash of the key. A weight that is not positive is
// ignored. The key is copied when it is seen for the second time, or if the weight is large: most keys of a
// long stream are never seen again before they leave the table.
func (s *Sketch) Add(hash uint64, db int, key []byte, weight int64) {
	if weight <= 0 {
		return
	}
	if s.table == nil {
		s.table = make([]counter, places)
	}
	s.Total += weight
	hash += uint64(db) * 0x9e3779b97f4a7c15
	for i := hash & (places - 1); ; i = (i + 1) & (places - 1) {
		c := &s.table[i]
		if c.sum != 0 && c.hash != hash {
			continue
		}
		if c.sum != 0 || weight > s.Error/16 {
			if len(c.key) == 0 || c.sum == 0 {
				c.key = append(c.key[:0], key[:min(len(key), mostText)]...)
			}
		} else {
			c.key = c.key[:0]
		}
		if c.sum == 0 {
			c.hash, c.db = hash, int32(db)
			s.used++
		}
		c.sum += weight
		break
	}
	if s.used == most {
		s.shrink()
	}
}

// shrink takes as much off all counters as leaves no more than Counters of them.
func (s *Sketch) shrink() {
	s.scratch = s.scratch[:0]
	for i := range s.table {
		if sum := s.table[i].sum; sum != 0 {
			s.scratch = append(s.scratch, sum)
		}
	}
	off := kth(s.scratch, len(s.scratch)-Counters-1)
	s.Error += off
	s.left = s.left[:0]
	for i := range s.table {
		c := &s.table[i]
		if c.sum > off {
			s.left = append(s.left, counter{c.hash, c.sum - off, c.db, c.key})
			c.key = nil
		}
		c.sum = 0
	}
	s.used = len(s.left)
	for _, c := range s.left {
		i := c.hash & (places - 1)
		for s.table[i].sum != 0 {
			i = (i + 1) & (places - 1)
		}
		s.table[i] = c
	}
}

// kth returns the element that would be at index k if a were sorted. It changes the order of a.
func kth(a []int64, k int) int64 {
	for {
		if len(a) <= 16 {
			slices.Sort(a)
			return a[k]
		}
		pivot := max(min(a[0], a[len(a)/2]), min(max(a[0], a[len(a)/2]), a[len(a)-1]))
		low, high := 0, len(a) // a[:low] is below the pivot, a[high:] above it
		for i := 0; i < high; {
			switch {
			case a[i] < pivot:
				a[i], a[low] = a[low], a[i]
				low++
				i++
			case a[i] > pivot:
				high--
				a[i], a[high] = a[high], a[i]
			default:
				i++
			}
		}
		switch {
		case k < low:
			a = a[:low]
		case k >= high:
			a, k = a[high:], k-high
		default:
			return pivot
		}
	}
}

// Key is a key with its sum, which is at most Sketch.Error too low.
type Key struct {
	DB  int
	Key []byte // valid until the next Add; cut after 256 bytes
	Sum int64
}

// Top returns the keys with the largest sums, the largest first. Keys that were seen once only, with a weight
// far below the error, are left out.
func (s *Sketch) Top() []Key {
	var top []Key
	for i := range s.table {
		if c := &s.table[i]; c.sum > 0 && len(c.key) > 0 {
			top = append(top, Key{int(c.db), c.key, c.sum})
		}
	}
	slices.SortFunc(top, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.DB, b.DB), slices.Compare(a.Key, b.Key))
	})
	return top
}
