package checkhistory

import (
	"cmp"
	"slices"

	"lockserver/internal/lockhistory"
)

// Hold is an owner that holds a lock.
type Hold struct {
	Owner  string
	Token  int64
	Mode   string
	FromMS int64
}

// Overlap is a pair of owners that hold a lock at the same time, at least one of them exclusively.
type Overlap struct {
	Key           string
	First, Second Hold // in the order of their grants
}

// Fallen is a token that is not higher than an earlier token of the same lock.
type Fallen struct {
	Key          string
	AtMS         int64
	Before, Then int64
}

// StaleWrite is a write with a token after a later token of the same lock was granted or used.
type StaleWrite struct {
	Key           string
	AtMS          int64
	Token, Latest int64
	SinceMS       int64 // when the later token was granted, or first wrote
}

// Wait is how long an owner waited.
type Wait struct {
	Key, Owner string
	EndMS      int64
	WaitedMS   float64
	Event      string // the event that ended the wait
}

// Report is the result of checking a history.
type Report struct {
	Events, Writes, Grants int
	Overlaps               []Overlap
	Fallen                 []Fallen
	StaleWrites            []StaleWrite
	// Unknown counts the writes with a token that the history does not know: the token was granted before the
	// history begins, or never.
	Unknown     int
	Gaps        int // places before which events are missing
	LongestWait *Wait
	LongestHold *Wait
}

// OK reports whether the history shows no fault.
func (r *Report) OK() bool { return len(r.Overlaps)+len(r.Fallen)+len(r.StaleWrites) == 0 }

// lock is the state of one lock while the history is read.
type lock struct {
	holds  []Hold
	grants []Hold // all grants, in the order of the history
	top    int64  // the highest token
	// again holds the grants at the beginning of the history, for a recording that is started again.
	again map[Hold]bool
}

// Checker reads a history.
type Checker struct {
	// SkewMS is how far the clocks of the application and of the server may be apart.
	SkewMS int64
	// Steps is how many comparisons and look-ups were made so far.
	Steps int64

	report Report
	locks  map[string]*lock
	writes []Line
	// latestMS is the time of the latest event. Events up to againUntilMS may be there twice: a recording
	// that is started again repeats the last events of the recording before it.
	latestMS, againUntilMS int64
}

func (c *Checker) at(key string) *lock {
	if c.locks == nil {
		c.locks = make(map[string]*lock)
	}
	l := c.locks[key]
	if l == nil {
		l = &lock{}
		c.locks[key] = l
	}
	return l
}

// Add reads the next line.
func (c *Checker) Add(l *Line) {
	switch l.Event {
	case Began:
		c.report.Gaps++
		c.againUntilMS = c.latestMS
		c.forget()
		return
	case Write:
		c.report.Writes++
		c.writes = append(c.writes, *l)
		return
	}
	c.report.Events++
	c.latestMS = max(c.latestMS, l.TimeMS)
	if l.Key == "" {
		c.forget()
		return
	}
	c.longest(l)
	of := c.at(l.Key)
	switch {
	case l.Event == lockhistory.Granted.String():
		c.granted(of, l)
	case l.Reason == lockhistory.Downgraded.String():
		for i := range of.holds {
			if of.holds[i].Token == l.Token {
				of.holds[i].Mode = lockhistory.Shared.String()
			}
		}
	case lockhistory.EndsHold(l.Event, l.Reason):
		of.holds = slices.DeleteFunc(of.holds, func(h Hold) bool { return h.Token == l.Token })
	}
}

// forget drops all holds, because it is not known whether they still exist.
func (c *Checker) forget() {
	for _, of := range c.locks {
		of.holds = nil
	}
}

// granted checks a new grant against the current holds.
func (c *Checker) granted(of *lock, l *Line) {
	h := Hold{Owner: l.Owner, Token: l.Token, Mode: l.Mode, FromMS: l.TimeMS}
	if i := slices.IndexFunc(of.holds, func(other Hold) bool { return other.Token == h.Token }); i >= 0 {
		if h.Mode == lockhistory.Exclusive.String() {
			of.holds[i].Mode = h.Mode
		}
		return // the owner took its lock once more
	}
	if l.Reason == lockhistory.Again.String() { // the grant is older than the history
		of.holds = append(of.holds, h)
		return
	}
	if h.FromMS <= c.againUntilMS && c.isAgain(of, h) {
		of.holds = append(of.holds, h)
		return
	}
	c.report.Grants++
	for _, other := range of.holds {
		if other.Mode == lockhistory.Exclusive.String() || h.Mode == lockhistory.Exclusive.String() {
			c.report.Overlaps = append(c.report.Overlaps, Overlap{l.Key, other, h})
		}
	}
	if h.Token <= of.top && l.Reason != lockhistory.Renamed.String() {
		c.report.Fallen = append(c.report.Fallen, Fallen{l.Key, l.TimeMS, of.top, h.Token})
	}
	of.top = max(of.top, h.Token)
	of.holds = append(of.holds, h)
	of.grants = append(of.grants, h)
}

// isAgain reports whether the history already contains a grant.
func (c *Checker) isAgain(of *lock, h Hold) bool {
	if of.again == nil {
		of.again = make(map[Hold]bool)
	}
	for _, g := range of.grants[len(of.again):] {
		of.again[g] = true
		c.Steps++
	}
	return of.again[h]
}

// longest updates the longest wait and the longest hold.
func (c *Checker) longest(l *Line) {
	keep := func(to **Wait, ms *float64) {
		if ms != nil && *ms > 0 && (*to == nil || *ms > (*to).WaitedMS) {
			*to = &Wait{l.Key, l.Owner, l.TimeMS, *ms, l.Event}
		}
	}
	keep(&c.report.LongestWait, l.WaitedMS)
	keep(&c.report.LongestHold, l.HeldMS)
}

// Report checks the writes and returns all faults. No line may be added after it. It takes O(n log n) for n
// lines.
func (c *Checker) Report() *Report {
	slices.SortStableFunc(c.writes, func(a, b Line) int { return c.compare(a.TimeMS, b.TimeMS) })
	wrote := make(map[string]Line) // the write with the highest token so far, by key
	known := make(map[string]*grantIndex)
	for _, w := range c.writes {
		of := c.locks[w.Key]
		if before, ok := wrote[w.Key]; ok && before.Token > w.Token {
			c.report.StaleWrites = append(c.report.StaleWrites, StaleWrite{w.Key, w.TimeMS, w.Token, before.Token, before.TimeMS})
			continue
		}
		wrote[w.Key] = w
		if of == nil {
			c.report.Unknown++
			continue
		}
		index := known[w.Key]
		if index == nil {
			index = c.index(of)
			known[w.Key] = index
		}
		if _, ok := slices.BinarySearchFunc(index.tokens, w.Token, c.compare); !ok {
			c.report.Unknown++
		}
		i, _ := slices.BinarySearchFunc(index.higher, w.Token+1, func(h Hold, token int64) int { return c.compare(h.Token, token) })
		if i == len(index.higher) {
			continue
		}
		if h := index.higher[i]; h.FromMS+c.SkewMS < w.TimeMS {
			c.report.StaleWrites = append(c.report.StaleWrites, StaleWrite{w.Key, w.TimeMS, w.Token, h.Token, h.FromMS})
		}
	}
	return &c.report
}

// grantIndex finds the grants of one lock by their tokens.
type grantIndex struct {
	tokens []int64 // the tokens of all grants, sorted
	// higher lists, by time, the exclusive grants with a higher token than every exclusive grant before them.
	// The earliest grant with more than a given token is therefore in this list, and the tokens in it rise.
	higher []Hold
}

func (c *Checker) index(of *lock) *grantIndex {
	x := &grantIndex{}
	byTime := slices.Clone(of.grants)
	slices.SortStableFunc(byTime, func(a, b Hold) int { return c.compare(a.FromMS, b.FromMS) })
	for _, h := range byTime {
		x.tokens = append(x.tokens, h.Token)
		if n := len(x.higher); h.Mode == lockhistory.Exclusive.String() && (n == 0 || h.Token > x.higher[n-1].Token) {
			x.higher = append(x.higher, h)
		}
	}
	slices.SortFunc(x.tokens, c.compare)
	return x
}

func (c *Checker) compare(a, b int64) int {
	c.Steps++
	return cmp.Compare(a, b)
}
