package lockclass

import (
	"bytes"
	"encoding/binary"

	"lockserver/internal/glob"
	"lockserver/internal/histogram"
)

// Other is the name of the class of all keys that no pattern matches.
const Other = "other"

// Most is how many classes there can be besides Other.
const Most = 64

// Losses are the ways in which an owner loses a lock against its will.
const (
	Expired = iota
	Forced
	Deleted
	Overwritten
	Unconfirmed
	Losses
)

// LossNames are the names of the losses in metrics and replies.
var LossNames = [Losses]string{"expired", "forced", "deleted", "overwritten", "unconfirmed"}

// Figures are the counters of the locks of one class, semaphores included.
type Figures struct {
	Name      string
	Grants    int64 // new holders
	Refusals  int64 // calls without WAIT, and waits beyond a limit, that did not get the lock
	Timeouts  int64 // waits that ended because their time was over
	Deadlocks int64 // waits that closed a deadlock cycle
	Lost      [Losses]int64
	Waiting   int64               // waits at the moment
	Waits     histogram.Histogram // of waits that ended, however they did
	Holds     histogram.Histogram // of holds that ended with a known length, however they did
	// PermitGrants and PermitWaits are the semaphores among Grants and Waiting.
	PermitGrants, PermitWaiting int64
	// OldestUS is the age of the oldest wait, where a reader has looked for it.
	OldestUS int64
}

// LostSum is the number of all losses.
func (f *Figures) LostSum() (n int64) {
	for _, lost := range f.Lost {
		n += lost
	}
	return n
}

// Merge adds the figures of another class.
func (f *Figures) Merge(o *Figures) {
	f.Grants += o.Grants
	f.OldestUS = max(f.OldestUS, o.OldestUS)
	f.Refusals += o.Refusals
	f.Timeouts += o.Timeouts
	f.Deadlocks += o.Deadlocks
	for reason, lost := range o.Lost {
		f.Lost[reason] += lost
	}
	f.Waiting += o.Waiting
	f.Waits.Merge(&o.Waits)
	f.Holds.Merge(&o.Holds)
	f.PermitGrants += o.PermitGrants
	f.PermitWaiting += o.PermitWaiting
}

const cacheSize = 1 << 12 // a power of two

// Table holds all classes. Use New.
type Table struct {
	classes  []*Figures // the last is Other
	patterns [][][]byte // by class
	prefixes []prefix   // the patterns, if all are simple and few; then the cache is not used
	cache    []uint64   // by hash of the key: the hash, with the number of the class in its lowest bits; 0: free
	rest     *Figures   // Other; nil: the cache is used
}

// classBits is the number of bits of a class number.
const classBits = 7

// New returns a table with Other as its only class.
func New() *Table {
	t := &Table{}
	t.Define(nil)
	return t
}

// Define makes new classes: each line is a name, followed by patterns. All figures begin at zero.
func (t *Table) Define(lines [][]string) {
	*t = Table{}
	for _, words := range lines {
		t.classes = append(t.classes, &Figures{Name: words[0]})
		var patterns [][]byte
		for _, p := range words[1:] {
			patterns = append(patterns, []byte(p))
		}
		t.patterns = append(t.patterns, patterns)
	}
	t.classes = append(t.classes, &Figures{Name: Other})
	if t.prefixes = prefixesOf(t.patterns, t.classes); t.prefixes == nil && len(lines) > 0 {
		t.cache = make([]uint64, cacheSize)
	} else {
		t.rest = t.classes[len(lines)]
	}
}

// Quick returns the class of a key if the first eight bytes decide it. If it returns nil, the caller must
// call Of.
func (t *Table) Quick(key []byte) *Figures {
	if len(key) < 8 {
		return nil
	}
	head := binary.LittleEndian.Uint64(key)
	for i := range t.prefixes {
		if p := &t.prefixes[i]; head&p.mask == p.want {
			return p.sure
		}
	}
	return t.rest
}

// NeedsHash reports whether Of needs a hash.
func (t *Table) NeedsHash() bool { return len(t.cache) > 0 }

// Of returns the class of a key. hash is a hash of the key; it is only used if NeedsHash returns true.
func (t *Table) Of(hash uint64, key []byte) *Figures {
	if len(t.cache) == 0 {
		return t.classes[t.matchPrefix(key)]
	}
	place := &t.cache[hash>>classBits&(cacheSize-1)]
	if *place>>classBits == hash>>classBits && *place != 0 {
		return t.classes[*place&(1<<classBits-1)]
	}
	i := t.match(key)
	*place = hash>>classBits<<classBits | uint64(i)
	return t.classes[i]
}

// match returns the number of the first class with a pattern that matches a key.
func (t *Table) match(key []byte) int {
	for i, patterns := range t.patterns {
		for _, p := range patterns {
			if glob.Match(p, key, false) {
				return i
			}
		}
	}
	return len(t.patterns)
}

// All returns the figures of all classes, Other last.
func (t *Table) All() []*Figures { return t.classes }

// Reset sets all figures to zero, except the numbers of current grants and waiters.
func (t *Table) Reset() {
	for _, f := range t.classes {
		*f = Figures{Name: f.Name, Waiting: f.Waiting, PermitWaiting: f.PermitWaiting}
	}
}

// mostPrefixes limits the simple patterns that are compared one after the other. A comparison takes about a
// nanosecond, and a look into the cache of classes takes longer.
const mostPrefixes = 8

// prefix is a pattern without special characters, apart from a '*' at its end.
type prefix struct {
	want, mask uint64   // the first eight bytes
	sure       *Figures // the class of a key of at least eight bytes that match; nil: the class depends on the rest
	rest       []byte   // the text after the first eight bytes
	length     int      // length of the text before the '*'
	whole      bool     // the pattern has no '*': it matches only its own text
	class      int
}

// prefixesOf returns the patterns of all classes in order. It returns nil if one is not simple, or if there
// are too many.
func prefixesOf(patterns [][][]byte, classes []*Figures) (list []prefix) {
	for class, of := range patterns {
		for _, p := range of {
			text, open := bytes.CutSuffix(p, []byte("*"))
			if bytes.ContainsAny(text, `*?[\`) || len(list) == mostPrefixes {
				return nil
			}
			head := text[:min(len(text), 8)]
			mask := ^uint64(0)
			if len(head) < 8 {
				mask = 1<<(8*len(head)) - 1
			}
			var sure *Figures
			if open && len(text) <= 8 {
				sure = classes[class]
			}
			list = append(list, prefix{sure: sure, want: first(head), mask: mask, rest: text[len(head):], length: len(text), whole: !open, class: class})
		}
	}
	return list
}

// first returns the first eight bytes of a text. A shorter text is filled up with zeros.
func first(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(text)
	}
	var b [8]byte
	copy(b[:], text)
	return binary.LittleEndian.Uint64(b[:])
}

// matchPrefix does what match does, with prefixes.
func (t *Table) matchPrefix(key []byte) int {
	if len(t.prefixes) == 0 {
		return len(t.patterns)
	}
	head := first(key)
	for i := range t.prefixes {
		p := &t.prefixes[i]
		if head&p.mask != p.want || len(key) < p.length || p.whole && len(key) != p.length || !p.whole && len(key) == 0 {
			continue
		}
		if len(p.rest) == 0 || string(key[8:8+len(p.rest)]) == string(p.rest) {
			return p.class
		}
	}
	return len(t.patterns)
}
