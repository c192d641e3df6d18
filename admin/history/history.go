// Package history stores the figures of the last hour, so that a chart has a line when it is opened.
//
// It owns the form of the storage and its size, which MostBytes limits. It must not know the meaning of the
// figures, or the users that may see them: a series is a name with numbers. To add a chart, add its figures
// in package admin (sampler), and nothing here.
package history

import (
	"sync"
	"time"
)

// Step is a distance between points. A series has a ring of points for each.
type Step int

// The steps.
const (
	Fine   Step = iota // a second, for the last five minutes
	Coarse             // ten seconds, for the last hour
	Steps  = iota
)

// rings has the seconds between the points of a ring, and the number of points that a ring stores.
var rings = [Steps]struct{ seconds, most int }{Fine: {1, 300}, Coarse: {10, 360}}

// Every is the time between two points of a step.
func (s Step) Every() time.Duration { return time.Duration(rings[s].seconds) * time.Second }

// Kept is how long the points of a step are stored.
func (s Step) Kept() time.Duration { return s.Every() * time.Duration(rings[s].most) }

const (
	// MostBytes limits the memory of a book.
	MostBytes = 1 << 20
	// besides is the memory of a series without its points and its name, in bytes: its place in the map,
	// and the rounding of the runtime.
	besides = 1024
)

// Book has the latest points of each series. The zero value is empty; it is safe for concurrent use.
type Book struct {
	mu    sync.Mutex
	of    map[string]*series
	bytes int // of all series; at most MostBytes. TestABookIsBounded checks it
}

// series is the points of one name.
type series struct {
	bytes int
	rings [Steps]ring
}

// ring is points at rising times, oldest first. It is full size from the beginning.
type ring struct {
	width  int      // values for each point
	times  []uint32 // seconds since 1970
	values []float32
	first  int // the place of the oldest point
	count  int
}

// bytesOf is the memory of a series.
func bytesOf(name string, width int) int {
	n := besides + len(name)
	for _, r := range rings {
		n += 4 * r.most * (1 + width)
	}
	return n
}

// Add records the values of a series at a time, as a point of a step. Their number is always the same. Points
// at this time and later are replaced: the time of a server in test mode may stand still, or be set. A new
// series is left out if it would exceed MostBytes.
func (b *Book) Add(step Step, name string, at time.Time, values ...float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of[name]
	if s == nil {
		size := bytesOf(name, len(values))
		if b.bytes+size > MostBytes {
			return
		}
		s = &series{bytes: size}
		for i, r := range rings {
			s.rings[i] = ring{width: len(values), times: make([]uint32, r.most), values: make([]float32, r.most*len(values))}
		}
		if b.of == nil {
			b.of = make(map[string]*series)
		}
		b.of[name] = s
		b.bytes += size
	}
	s.rings[step].add(uint32(max(0, at.Unix())), values)
}

// place returns the place of point i, counted from the oldest.
func (r *ring) place(i int) int { return (r.first + i) % len(r.times) }

func (r *ring) add(at uint32, values []float64) {
	for r.count > 0 && r.times[r.place(r.count-1)] >= at {
		r.count--
	}
	if r.count == len(r.times) {
		r.first = r.place(1)
		r.count--
	}
	p := r.place(r.count)
	r.count++
	r.times[p] = at
	for i := range r.width {
		r.values[p*r.width+i] = float32(values[i])
	}
}

// latest returns the time of the last point; 0 before the first.
func (r *ring) latest() uint32 {
	if r.count == 0 {
		return 0
	}
	return r.times[r.place(r.count-1)]
}

// Forget removes the series without a new point for the time that the coarse points are stored.
func (b *Book) Forget(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, s := range b.of {
		if int64(max(s.rings[Fine].latest(), s.rings[Coarse].latest())) <= now.Add(-Coarse.Kept()).Unix() {
			b.bytes -= s.bytes
			delete(b.of, name)
		}
	}
}

// Of returns the points of a series in columns: the times in seconds since 1970, and each of the values; nil
// if there are no points. Before the first fine point there are the coarse ones.
func (b *Book) Of(name string) (columns [][]float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of[name]
	if s == nil {
		return nil
	}
	columns = make([][]float64, 1+s.rings[Fine].width)
	fine := &s.rings[Fine]
	put := func(r *ring, before uint32) {
		oldest := int64(r.latest()) - int64(Coarse.Kept()/time.Second)
		for i := range r.count {
			p := r.place(i)
			if r.times[p] >= before || int64(r.times[p]) <= oldest {
				continue
			}
			columns[0] = append(columns[0], float64(r.times[p]))
			for j := range r.width {
				columns[1+j] = append(columns[1+j], float64(r.values[p*r.width+j]))
			}
		}
	}
	until := ^uint32(0)
	if fine.count > 0 {
		until = fine.times[fine.place(0)]
	}
	put(&s.rings[Coarse], until)
	put(fine, ^uint32(0))
	return columns
}

// Latest returns the last fine point of a series, its time and the values; nil before the first.
func (b *Book) Latest(name string) (point []float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of[name]
	if s == nil || s.rings[Fine].count == 0 {
		return nil
	}
	r := &s.rings[Fine]
	p := r.place(r.count - 1)
	point = append(point, float64(r.times[p]))
	for _, v := range r.values[p*r.width : (p+1)*r.width] {
		point = append(point, float64(v))
	}
	return point
}
