package hash

import (
	"cmp"
	"slices"

	"github.com/tidwall/btree"
)

// maxFew is up to how many deadlines are kept in a slice: with more of them, looking through it
// would cost more than two trees do.
const maxFew = 32

// times are the deadlines of the fields of one hash, which has none until a field is given one. A few stand
// in a slice, more in two trees, for good.
//
// A snapshot reads few and at of a header that a writer has replaced by its clone: few is copied by clone,
// and at shares its nodes copy-on-write. order goes over to the clone, as the index of a dict does.
//
// Invariant (checked in the tests): the fields with deadlines exist in the hash,
// and at and order hold the same.
type times struct {
	few   []fieldTime // by time
	alarm any
	large *large // nil: it has nothing that only hashes with many deadlines have
	quiet bool   // SetQuiet
	mixed bool   // SetMixed
	// one is the storage of few for a single deadline, the most frequent case. name is the name of its
	// field, which is written once.
	one  [1]fieldTime
	name [48]byte
}

// large is what the deadlines of a large hash have besides.
type large struct {
	trees any    // a *timeTrees, nil with few; package stream says why the field has no type
	tally *Tally // nil: none, or it is not up to date
}

// trees returns the trees, nil if the deadlines are few.
func (t *times) trees() any {
	if t.large == nil {
		return nil
	}
	return t.large.trees
}

// tally returns the tally; nil: there is none, or it is not up to date.
func (t *times) tally() *Tally {
	if t.large == nil {
		return nil
	}
	return t.large.tally
}

// setTally attaches a tally; nil: none.
func (t *times) setTally(tally *Tally) {
	if t.large == nil {
		if tally == nil {
			return
		}
		t.large = &large{}
	}
	t.large.tally = tally
}

// timeTrees are the deadlines of many fields: at by field, order by time.
type timeTrees struct {
	at    *btree.Map[string, int64]
	order *btree.BTreeG[fieldTime]
}

// byField returns the deadlines by field, nil if they are few.
func byField(t *times) *btree.Map[string, int64] {
	if trees, many := t.trees().(*timeTrees); many {
		return trees.at
	}
	return nil
}

// byTime returns the deadlines by time. They are many.
func byTime(t *times) *btree.BTreeG[fieldTime] { return t.trees().(*timeTrees).order }

// first makes the field, if its name fits, the first of times without any: a view of the name that stays.
func (t *times) first(field []byte) (name string) {
	if t.few == nil {
		t.few = t.one[:0]
	}
	if len(field) > len(t.name) {
		return string(field)
	}
	return viewOf(t.name[:copy(t.name[:], field)])
}

// Spare keeps hashes with deadlines that are gone, for the next ones: a lock that is shared for a moment, or
// a semaphore, needs one only for that time. The zero value is ready for use.
type Spare struct{ of []*full }

const (
	// mostSpare is how many are kept.
	mostSpare = 64
	// mostSlack is how many bytes more than it needs a listpack takes for the sake of memory that is there.
	mostSlack = 32
)

// take returns a header with deadlines that has no fields. Its listpack is memory, or nil.
func (s *Spare) take() *full {
	if s == nil || len(s.of) == 0 {
		return &full{times: &times{}}
	}
	last := len(s.of) - 1
	f := s.of[last]
	s.of[last], s.of = nil, s.of[:last]
	return f
}

// Keep takes a hash that has gone. No snapshot may hold it, and no caller may use it any more.
func (s *Spare) Keep(h *Hash) {
	t := h.times()
	if t == nil || h.table() != nil || t.alarm != nil || t.large != nil || cap(t.few) > len(t.one) || len(s.of) >= mostSpare {
		return
	}
	t.few, t.quiet, t.mixed = t.few[:0], false, false
	s.of = append(s.of, h.full())
}

// fieldTime is a field and when it dies, in milliseconds since 1970.
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

// get returns the deadline of a field, 0 if it has none.
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

// set gives a field a deadline. The string is kept.
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

// plant turns the slice into trees.
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

// remove takes a field's deadline away and reports whether it had one.
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

// earliest returns the field that dies first; false if none has a deadline.
func (t *times) earliest() (fieldTime, bool) {
	if t.trees() != nil {
		return byTime(t).Min()
	}
	if len(t.few) == 0 {
		return fieldTime{}, false
	}
	return t.few[0], true
}

// before returns how many deadlines are before a time.
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

// latest returns the field that dies last; false if none has a deadline.
func (t *times) latest() (fieldTime, bool) {
	if t.trees() != nil {
		return byTime(t).Max()
	}
	if len(t.few) == 0 {
		return fieldTime{}, false
	}
	return t.few[len(t.few)-1], true
}

// each calls fn for every field with a deadline. Unlike earliest and latest it may be
// called on what a snapshot holds.
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
