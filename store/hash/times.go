package hash

import (
	"cmp"
	"slices"

	"github.com/tidwall/btree"
)

// maxFew is the largest number of deadlines in a slice: with more of them, searching the slice would cost
// more than two trees do.
const maxFew = 32

// times holds the deadlines of the fields of one hash. It is made with the first deadline. A few deadlines
// are in a slice; more deadlines are in two trees, permanently.
//
// A snapshot reads few and at of a header that a writer has replaced by its clone: few is copied by clone,
// and at shares its nodes copy-on-write. order moves to the clone, like the index of a dict.
//
// Invariant (checked in the tests): the fields with deadlines exist in the hash, and at and order hold the
// same deadlines.
type times struct {
	few   []fieldTime // by time
	alarm any
	large *large // nil: no field of large is needed
	quiet bool   // set by SetQuiet
	mixed bool   // set by SetMixed
	// one is the memory of few for a single deadline, the most frequent case. name is the name of its field,
	// which is written only once.
	one  [1]fieldTime
	name [48]byte
}

// large holds further state for hashes with many deadlines.
type large struct {
	trees any    // a *timeTrees, or nil; package stream explains why the field has no type
	tally *Tally // nil: there is no current tally
}

// trees returns the trees, or nil if there are only a few deadlines.
func (t *times) trees() any {
	if t.large == nil {
		return nil
	}
	return t.large.trees
}

// tally returns the current tally, or nil.
func (t *times) tally() *Tally {
	if t.large == nil {
		return nil
	}
	return t.large.tally
}

// setTally attaches a tally; nil removes it.
func (t *times) setTally(tally *Tally) {
	if t.large == nil {
		if tally == nil {
			return
		}
		t.large = &large{}
	}
	t.large.tally = tally
}

// timeTrees holds many deadlines: at is ordered by field, order by time.
type timeTrees struct {
	at    *btree.Map[string, int64]
	order *btree.BTreeG[fieldTime]
}

// byField returns the deadlines by field, or nil if there are only a few.
func byField(t *times) *btree.Map[string, int64] {
	if trees, many := t.trees().(*timeTrees); many {
		return trees.at
	}
	return nil
}

// byTime returns the deadlines by time. There must be trees.
func byTime(t *times) *btree.BTreeG[fieldTime] { return t.trees().(*timeTrees).order }

// first stores a field as the first with a deadline, if its name fits. It returns a view of the stored name.
func (t *times) first(field []byte) (name string) {
	if t.few == nil {
		t.few = t.one[:0]
	}
	if len(field) > len(t.name) {
		return string(field)
	}
	return viewOf(t.name[:copy(t.name[:], field)])
}

// Spare keeps removed hashes with deadlines for reuse: a lock that is shared for a moment, or a semaphore,
// needs such a hash only for that time. The zero value is ready for use.
type Spare struct{ of []*full }

const (
	// mostSpare is the number of hashes that are kept.
	mostSpare = 64
	// mostSlack is the number of excess bytes that a listpack may have when it reuses memory.
	mostSlack = 32
)

// take returns a header with deadlines and without fields. Its listpack has memory, or is nil.
func (s *Spare) take() *full {
	if s == nil || len(s.of) == 0 {
		return &full{times: &times{}}
	}
	last := len(s.of) - 1
	f := s.of[last]
	s.of[last], s.of = nil, s.of[:last]
	return f
}

// Keep stores a removed hash. No snapshot may hold the hash, and no caller may use it any more.
func (s *Spare) Keep(h *Hash) {
	t := h.times()
	if t == nil || h.table() != nil || t.alarm != nil || t.large != nil || cap(t.few) > len(t.one) || len(s.of) >= mostSpare {
		return
	}
	t.few, t.quiet, t.mixed = t.few[:0], false, false
	s.of = append(s.of, h.full())
}

// fieldTime is a field with its deadline, in milliseconds since 1970.
type fieldTime struct {
	atMS  int64
	field string
}

func (a fieldTime) compare(b fieldTime) int {
	if c := cmp.Compare(a.atMS, b.atMS); c != 0 {
		return c
	}
	return cmp.Compare(a.field, b.field)
}

func earlier(a, b fieldTime) bool { return a.compare(b) < 0 }

func (t *times) len() int {
	if t.trees() != nil {
		return byField(t).Len()
	}
	return len(t.few)
}

// get returns the deadline of a field, or 0.
func (t *times) get(field string) int64 {
	if t.trees() != nil {
		atMS, _ := byField(t).Get(field)
		return atMS
	}
	if i := t.find(field); i >= 0 {
		return t.few[i].atMS
	}
	return 0
}

// find returns the index of a field in few, or -1.
func (t *times) find(field string) int {
	return slices.IndexFunc(t.few, func(e fieldTime) bool { return e.field == field })
}

// set sets the deadline of a field. It keeps the string.
func (t *times) set(field string, atMS int64) {
	switch {
	case t.trees() == nil && len(t.few) == 0:
		t.few = append(t.few, fieldTime{atMS, field})
		return
	case t.trees() == nil && len(t.few) < maxFew, t.find(field) >= 0:
		t.removeFew(field)
		e := fieldTime{atMS, field}
		i, _ := slices.BinarySearchFunc(t.few, e, fieldTime.compare)
		t.few = slices.Insert(t.few, i, e)
		return
	}
	if t.trees() == nil {
		t.plant()
	}
	if old, had := byField(t).Set(field, atMS); had {
		byTime(t).Delete(fieldTime{old, field})
	}
	byTime(t).Set(fieldTime{atMS, field})
}

// plant moves the deadlines from the slice to trees.
func (t *times) plant() {
	if t.large == nil {
		t.large = &large{}
	}
	t.large.trees = &timeTrees{btree.NewMap[string, int64](0), btree.NewBTreeGOptions(earlier, btree.Options{NoLocks: true})}
	for _, e := range t.few {
		byField(t).Set(e.field, e.atMS)
		byTime(t).Set(e)
	}
	t.few = nil
}

// remove removes a field's deadline and reports whether it had a deadline.
func (t *times) remove(field string) bool {
	if t.trees() == nil {
		return t.removeFew(field)
	}
	atMS, had := byField(t).Delete(field)
	if had {
		byTime(t).Delete(fieldTime{atMS, field})
	}
	return had
}

func (t *times) removeFew(field string) bool {
	i := t.find(field)
	if i < 0 {
		return false
	}
	t.few = slices.Delete(t.few, i, i+1)
	return true
}

// earliest returns the field that expires first; false if no field has a deadline.
func (t *times) earliest() (fieldTime, bool) {
	if t.trees() != nil {
		return byTime(t).Min()
	}
	if len(t.few) == 0 {
		return fieldTime{}, false
	}
	return t.few[0], true
}

// before returns the number of deadlines before a time.
func (t *times) before(atMS int64) (n int) {
	count := func(e fieldTime) bool {
		if e.atMS >= atMS {
			return false
		}
		n++
		return true
	}
	if t.trees() != nil {
		byTime(t).Scan(count)
		return n
	}
	for _, e := range t.few {
		if !count(e) {
			break
		}
	}
	return n
}

// latest returns the field that expires last; false if no field has a deadline.
func (t *times) latest() (fieldTime, bool) {
	if t.trees() != nil {
		return byTime(t).Max()
	}
	if len(t.few) == 0 {
		return fieldTime{}, false
	}
	return t.few[len(t.few)-1], true
}

// each calls fn for every field with a deadline. Unlike earliest and latest it may be called on a header that
// a snapshot holds.
func (t *times) each(fn func(field string, atMS int64)) {
	for _, e := range t.few {
		fn(e.field, e.atMS)
	}
	if t.trees() != nil {
		byField(t).Scan(func(field string, atMS int64) bool {
			fn(field, atMS)
			return true
		})
	}
}

// clone returns the times for writing; t remains for a snapshot.
func (t *times) clone() *times {
	c := &times{few: slices.Clone(t.few), alarm: t.alarm, quiet: t.quiet, mixed: t.mixed}
	if t.large != nil {
		c.large = &large{tally: t.large.tally}
	}
	if t.trees() != nil {
		c.large.trees = &timeTrees{byField(t).Copy(), byTime(t)}
	}
	return c
}
