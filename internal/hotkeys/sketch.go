package hotkeys

import (
	"cmp"
	"math"
	"slices"
)

const (
	// Counters is how many keys of each measure survive when the table is full.
	Counters = 1024
	most     = 2 * Measures * Counters // keys at a time
	places   = 2 * most                // of the table, a power of two
	// mostText is how many bytes of a key are kept.
	mostText = 256

	// Measures is how many sums each key has.
	Measures = 2
)

// Sums is a number for each measure.
type Sums [Measures]int64

// Sketch is the sums of the heaviest keys. The zero value is empty.
type Sketch struct {
	// Total is the sum of all weights.
	Total Sums
	// Error is the most by which a sum can be too low, apart from Margin.
	Error Sums

	table   []counter // open addressing by hash
	names   []name    // by place in the table
	used    int
	scratch []int64
	left    []entry
	chance  uint64
	seen    int64
	skip    [len(levels)]int64 // so many small weights are not looked at
	spread  Sums               // the largest product of a sampled weight and of how many it stands for
	quick   quick
}

// quick is what Skips needs: weights up to most are small on a level, and change nothing but Total and the
// counts, so long as left is not 0. left is taken from skip[level].
type quick struct {
	most  Sums
	left  int64
	level int
}

// levels are how small weights are sampled. A weight is small if it is at most a part (a power of two) of the
// sum of all weights, and as many events were seen. Of events with small weights only, one of so many counts,
// with so many times its weight. Both levels change a sum of a 1024th of the total by about as much.
var levels = [2]struct {
	part uint
	of   int64
}{{16, 16}, {20, 64}}

// counter is what each weight needs. It is free if sums is zero.
type counter struct {
	hash uint64
	sums Sums
}

// name is the key of a counter; empty: the key was seen once only.
type name struct {
	db  int
	key []byte
}

// entry is a counter while the table is rebuilt.
type entry struct {
	counter
	name
}

// Add adds weights of a key of a database; hash is a hash of the key. Weights that are not positive are
// ignored. The key is copied when it is seen for the second time, or if a weight is large. Most keys of a
// long stream are never seen again before they leave the table.
func (s *Sketch) Add(hash uint64, db int, key []byte, weights Sums) {
	if s.Takes(&weights) {
		s.Put(hash, db, key, weights)
	}
}

// Takes counts weights, and reports whether Put is to be called with them. It changes the weights to those
// that Put takes. Before that the caller needs no hash.
func (s *Sketch) Takes(weights *Sums) bool {
	s.takeBack()
	takes := s.takes(weights)
	s.ready()
	return takes
}

// Skips counts weights, if they are small and not looked at, as almost all are. If it returns false, it has
// done nothing, and Takes must be called. It takes few instructions.
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

// takeBack takes back what Skips has left.
func (s *Sketch) takeBack() {
	s.skip[s.quick.level] += s.quick.left
	s.quick.left = 0
}

// ready lets Skips take from the level that most weights are on.
func (s *Sketch) ready() {
	if s.seen>>levels[0].part == 0 {
		return
	}
	q := &s.quick
	if q.level = 0; s.seen>>levels[1].part > 0 {
		q.level = 1
	}
	q.left = max(s.skip[q.level], 0)
	if q.level == 0 { // so many are left before the other level begins
		q.left = min(q.left, 1<<levels[1].part-1-s.seen)
	}
	s.skip[q.level] -= q.left
	for i := range q.most {
		q.most[i] = min(s.Total[i]>>levels[q.level].part, s.spread[i]/(levels[q.level].of-1))
	}
}

// takes is Takes while nothing is left to Skips.
func (s *Sketch) takes(weights *Sums) bool {
	w0, w1 := max(weights[0], 0), max(weights[1], 0)
	s.Total[0] += w0
	s.Total[1] += w1
	// 0 is small, too: many holds end in the microsecond in which they begin.
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

// Put adds weights that Takes has returned.
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

// Margin returns by how much a sum can be wrong in either direction, because not all small weights were
// looked at: four standard deviations at most. It is 0 until there are some 65,000 weights.
func (s *Sketch) Margin(measure int, sum int64) int64 {
	return int64(4 * math.Sqrt(float64(sum)*float64(s.spread[measure])))
}

// shrink takes as much off all sums of a measure as leaves no more than Counters of them.
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

// Key is a key with its sum, which is at most Sketch.Error too low.
type Key struct {
	DB  int
	Key []byte // valid until the next Add; cut after 256 bytes
	Sum int64
}

// Top returns the keys with the largest sums of a measure, the largest first. Keys that were seen once only,
// with a weight far below the error, are left out.
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
