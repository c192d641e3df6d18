package hotkeys

import (
	"cmp"
	"math"
	"slices"
)

const (
	// Counters is how many keys of each measure survive when the table is full.
	Counters = 1024
	most     = 2 * Measures * Counters // limit of keys in the table
	places   = 2 * most                // entries of the table, a power of two
	// mostText is the limit of the bytes that are kept of a key.
	mostText = 256

	// Measures is the number of sums of each key.
	Measures = 2
)

// Sums is a number for each measure.
type Sums [Measures]int64

// Sketch holds the sums of the heaviest keys. The zero value is empty.
type Sketch struct {
	// Total is the sum of all weights.
	Total Sums
	// Error is the most that a sum can be too low by, without the error that Margin returns.
	Error Sums

	table   []counter // open addressing by hash
	names   []name    // the keys, by index in the table
	used    int
	scratch []int64
	left    []entry
	chance  uint64
	seen    int64
	skip    [len(levels)]int64 // by level: how many small weights are skipped before the next sample
	spread  Sums               // the largest product of a sampled weight and the number of weights that it represents
	quick   quick
}

// quick holds the fields that Skips needs. While left is not 0, a weight up to most is small on this level,
// and only changes Total and the counts. left is taken from skip[level].
type quick struct {
	most  Sums
	left  int64
	level int
}

// levels says how small weights are sampled. A weight is small on a level if it is at most 1/2^part of the
// sum of all weights, and if at least 2^part events were seen. Of the events with small weights only one of
// every few counts, with its weight multiplied. The error of both levels is about the same, for a sum of a
// 1024th of the total.
var levels = [2]struct {
	part uint
	of   int64
}{{16, 16}, {20, 64}}

// counter holds the fields that every weight needs. The counter is free if sums is zero.
type counter struct {
	hash uint64
	sums Sums
}

// name is the key of a counter. It is empty if the key was seen only once.
type name struct {
	db  int
	key []byte
}

// entry is a counter while the table is rebuilt.
type entry struct {
	counter
	name
}

// Add adds weights for a key of a database; hash is a hash of the key. Weights that are not positive are
// ignored. The key is copied when it is seen for the second time, or if a weight is large. Most keys of a
// long stream leave the table before they are seen again.
func (s *Sketch) Add(hash uint64, db int, key []byte, weights Sums) {
	if s.Takes(&weights) {
		s.Put(hash, db, key, weights)
	}
}

// Takes counts weights, and reports whether the caller must call Put. It replaces the weights by those that
// Put expects. The caller does not need the hash for Takes.
func (s *Sketch) Takes(weights *Sums) bool {
	s.takeBack()
	takes := s.takes(weights)
	s.ready()
	return takes
}

// Skips counts weights that are small and not sampled, which is the case for almost all events. If it returns
// false, it has done nothing, and the caller must call Takes. Skips takes few instructions.
func (s *Sketch) Skips(w0, w1 int64) bool {
	if s.quick.left == 0 || uint64(w0) > uint64(s.quick.most[0]) || uint64(w1) > uint64(s.quick.most[1]) {
		return false
	}
	s.quick.left--
	s.Total[0] += w0
	s.Total[1] += w1
	s.seen++
	return true
}

// takeBack adds quick.left back to the counter in skip that it was taken from.
func (s *Sketch) takeBack() {
	s.skip[s.quick.level] += s.quick.left
	s.quick.left = 0
}

// ready gives Skips the part of skip that belongs to the level of most weights.
func (s *Sketch) ready() {
	if s.seen>>levels[0].part == 0 {
		return
	}
	q := &s.quick
	if q.level = 0; s.seen>>levels[1].part > 0 {
		q.level = 1
	}
	q.left = max(s.skip[q.level], 0)
	if q.level == 0 { // so many events are left before the other level begins
		q.left = min(q.left, 1<<levels[1].part-1-s.seen)
	}
	s.skip[q.level] -= q.left
	for i := range q.most {
		q.most[i] = min(s.Total[i]>>levels[q.level].part, s.spread[i]/(levels[q.level].of-1))
	}
}

// takes is the part of Takes that runs when Skips has nothing left.
func (s *Sketch) takes(weights *Sums) bool {
	w0, w1 := max(weights[0], 0), max(weights[1], 0)
	s.Total[0] += w0
	s.Total[1] += w1
	// 0 is a small weight, too: many holds end in the microsecond in which they begin.
	if s.seen++; s.seen>>levels[0].part > 0 && w0 <= s.Total[0]>>levels[0].part && w1 <= s.Total[1]>>levels[0].part {
		level := 0
		if s.seen>>levels[1].part > 0 && w0 <= s.Total[0]>>levels[1].part && w1 <= s.Total[1]>>levels[1].part {
			level = 1
		}
		of := levels[level].of
		s.spread[0], s.spread[1] = max(s.spread[0], w0*(of-1)), max(s.spread[1], w1*(of-1))
		if s.skip[level]--; s.skip[level] >= 0 {
			return false
		}
		s.chance = s.chance*6364136223846793005 + 1442695040888963407
		s.skip[level] = int64(s.chance>>33) % (2*of - 1) // of-1 on average
		w0, w1 = w0*of, w1*of
	}
	weights[0], weights[1] = w0, w1
	return w0|w1 != 0
}

// Put adds the weights that Takes has left.
func (s *Sketch) Put(hash uint64, db int, key []byte, weights Sums) {
	if s.table == nil {
		s.table, s.names = make([]counter, places), make([]name, places)
	}
	hash += uint64(db) * 0x9e3779b97f4a7c15
	i := hash & (places - 1)
	for s.table[i].hash != hash && s.table[i].sums != (Sums{}) {
		i = (i + 1) & (places - 1)
	}
	c := &s.table[i]
	if isNew := c.sums == (Sums{}); isNew {
		c.hash = hash
		n := &s.names[i]
		if n.db, n.key = db, n.key[:0]; weights[0] > s.Error[0]/16 || weights[1] > s.Error[1]/16 {
			n.key = append(n.key, key[:min(len(key), mostText)]...)
		}
		s.used++
	} else if n := &s.names[i]; len(n.key) == 0 {
		n.key = append(n.key, key[:min(len(key), mostText)]...)
	}
	for j, w := range weights {
		c.sums[j] += w
	}
	if s.used == most {
		s.shrink()
	}
}

// Margin returns how far a sum can be wrong in either direction because small weights are sampled: at most
// four standard deviations. It is 0 for the first 65,000 weights, about.
func (s *Sketch) Margin(measure int, sum int64) int64 {
	return int64(4 * math.Sqrt(float64(sum)*float64(s.spread[measure])))
}

// shrink subtracts a number from all sums of a measure, so that at most Counters of them stay positive.
func (s *Sketch) shrink() {
	var off Sums
	for j := range off {
		s.scratch = s.scratch[:0]
		for i := range s.table {
			if c := &s.table[i]; c.sums != (Sums{}) {
				s.scratch = append(s.scratch, c.sums[j])
			}
		}
		off[j] = kth(s.scratch, len(s.scratch)-Counters-1)
		s.Error[j] += off[j]
	}
	s.left = s.left[:0]
	for i := range s.table {
		c := &s.table[i]
		if c.sums[0] > off[0] || c.sums[1] > off[1] {
			e := entry{*c, s.names[i]}
			for j := range off {
				e.sums[j] = max(0, e.sums[j]-off[j])
			}
			s.left = append(s.left, e)
			s.names[i].key = nil
		}
		c.sums = Sums{}
	}
	s.used = len(s.left)
	for _, e := range s.left {
		i := e.hash & (places - 1)
		for s.table[i].sums != (Sums{}) {
			i = (i + 1) & (places - 1)
		}
		s.table[i], s.names[i] = e.counter, e.name
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

// Key is a key with its sum. The sum is too low by at most Sketch.Error.
type Key struct {
	DB  int
	Key []byte // valid until the next Add; cut after 256 bytes
	Sum int64
}

// Top returns the keys with the largest sums of a measure, the largest first. It leaves out a key that was
// seen only once, with a weight far below the error.
func (s *Sketch) Top(measure int) []Key {
	var top []Key
	for i := range s.table {
		if sum, n := s.table[i].sums[measure], &s.names[i]; sum > 0 && len(n.key) > 0 {
			top = append(top, Key{n.db, n.key, sum})
		}
	}
	slices.SortFunc(top, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.DB, b.DB), slices.Compare(a.Key, b.Key))
	})
	return top
}
