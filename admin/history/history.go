// Package history stores the figures of the last ten minutes, so that a chart has a line when it is opened.
//
// It owns the duration and the form of the storage. It must not know the meaning of the figures, or the users
// that may see them: a series is a name with numbers. To add a chart, add its figures in Port.remember, and
// nothing here.
package history

import (
	"sync"
	"time"
)

const (
	// Every is the interval at which figures are to be added.
	Every = 2 * time.Second
	// Kept is how long points are stored.
	Kept = 10 * time.Minute
)

// Book has the latest points of each series. The zero value is empty; it is safe for concurrent use.
type Book struct {
	mu sync.Mutex
	of map[string]*series
}

// series is the points of one name, oldest first.
type series struct {
	width int       // numbers for each point: its time in seconds since 1970, and the values
	flat  []float64 // all points, one behind the other
}

// Add records the values of a series at a time. Their number is always the same. Points at this time and
// later are replaced: the time of a server in test mode may stand still, or be set.
func (b *Book) Add(name string, at time.Time, values ...float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of[name]
	if s == nil {
		if b.of == nil {
			b.of = make(map[string]*series)
		}
		s = &series{width: 1 + len(values)}
		b.of[name] = s
	}
	old := 0
	for old < len(s.flat) && s.flat[old] <= float64(at.Add(-Kept).Unix()) {
		old += s.width
	}
	last := len(s.flat)
	for last > old && s.flat[last-s.width] >= float64(at.Unix()) {
		last -= s.width
	}
	s.flat = append(s.flat[:0], s.flat[old:last]...)
	s.flat = append(append(s.flat, float64(at.Unix())), values...)
}

// Forget removes the series without a new point for the time Kept.
func (b *Book) Forget(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, s := range b.of {
		if s.flat[len(s.flat)-s.width] <= float64(now.Add(-Kept).Unix()) {
			delete(b.of, name)
		}
	}
}

// Of returns the points of a series in columns: the times, and each of the values; nil if there are no
// points.
func (b *Book) Of(name string) (columns [][]float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of[name]
	if s == nil {
		return nil
	}
	columns = make([][]float64, s.width)
	for i, v := range s.flat {
		columns[i%s.width] = append(columns[i%s.width], v)
	}
	return columns
}
