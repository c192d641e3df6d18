package stats

import (
	"time"

	"lockserver/internal/histogram"
)

// Locks counts events of the locks of one database.
type Locks struct {
	Handoffs    int64 // locks that were granted to waiters
	Deadlocks   int64 // waits that were refused because they closed a deadlock cycle
	StaleTokens int64 // commands with a token that is not the token of the lock
	Waits       Waits
}

// Waits counts waits for locks by their length, with any result.
type Waits struct {
	histogram.Histogram
	spread *Spread // in microseconds instead of nanoseconds: it reaches 18 minutes; nil: no wait
}

// Add counts a wait.
func (w *Waits) Add(us int64) {
	w.Histogram.Add(us)
	if w.spread == nil {
		w.spread = new(Spread)
	}
	w.spread.add(time.Duration(us), 1)
}

// Percentile returns a time in microseconds that p percent of the waits did not exceed, with an error of an
// eighth; 0: there was no wait.
func (w *Waits) Percentile(p float64) int64 {
	if w.spread == nil {
		return 0
	}
	return min(int64(w.spread.Percentile(p)*1000), w.MaxUS)
}

// merge adds the counts of another Waits; w gets a spread of its own.
func (w *Waits) merge(o *Waits) {
	w.Histogram.Merge(&o.Histogram)
	if o.spread == nil {
		return
	}
	if w.spread == nil {
		w.spread = new(Spread)
	}
	w.spread.Calls += o.spread.Calls
	for i, n := range o.spread.buckets {
		w.spread.buckets[i] += n
	}
}

// LocksOf returns the counts for the locks of a database.
func (b *Book) LocksOf(db int) *Locks {
	if b.locks == nil {
		b.locks = make(map[int]*Locks)
	}
	l := b.locks[db]
	if l == nil {
		l = new(Locks)
		b.locks[db] = l
	}
	return l
}

// LockFigures holds the figures about the locks of a database, or of several.
type LockFigures struct {
	Held    int64 // as in LOCK.LIST
	Waiting int64
	Expired int64 // locks with a lease that ended while they were held
	// Latches is the number of latches with waiting clients, and LatchWaiters the number of these clients.
	Latches, LatchWaiters int64
	Locks
}

// NewLockFigures combines the counts of a database with the present state of its locks. The result is a copy.
func (b *Book) NewLockFigures(db int, held, waiting, expired int64) LockFigures {
	f := LockFigures{Held: held, Waiting: waiting, Expired: expired}
	if l := b.locks[db]; l != nil {
		f.add(l)
	}
	return f
}

// Any reports whether any figure is not 0.
func (f *LockFigures) Any() bool {
	return f.Held|f.Waiting|f.Expired|f.LatchWaiters|f.Handoffs|f.Deadlocks|f.StaleTokens|f.Waits.Count != 0
}

// Merge adds the figures of another database.
func (f *LockFigures) Merge(o *LockFigures) {
	f.Held += o.Held
	f.Waiting += o.Waiting
	f.Expired += o.Expired
	f.Latches += o.Latches
	f.LatchWaiters += o.LatchWaiters
	f.add(&o.Locks)
}

func (l *Locks) add(o *Locks) {
	l.Handoffs += o.Handoffs
	l.Deadlocks += o.Deadlocks
	l.StaleTokens += o.StaleTokens
	l.Waits.merge(&o.Waits)
}
