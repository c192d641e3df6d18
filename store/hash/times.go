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
	at    *btree.Map[string, int64]
	order *btree.BTreeG[fieldTime]
	alarm any
}

// firstTimes are times with room for the one deadline that most hashes with any have.
type firstTimes struct {
	times
	room [1]fieldTime
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
	if t.at != nil {
		return t.at.Len()
	}
	return len(t.few)
}

// get returns the deadline of a field, 0 if it has none.
func (t *times) get(field string) int64 {
	if t.at != nil {
		atMS, _ := t.at.Get(field)
		return atMS
	}
	if i := t.find(field); i >= 0 {
		return t.few[i].atMS
	}
	return 0
}

// find returns where a field stands in few, or -1.
func (t *times) find(field string) int {
	return slices.IndexFunc(t.few, func(e fieldTime) bool { return e.field == field })
}

// set gives a field a deadline. The string is kept.
func (t *times) set(field string, atMS int64) {
	if t.at == nil && len(t.few) < maxFew || t.find(field) >= 0 {
		t.removeFew(field)
		e := fieldTime{atMS, field}
		i, _ := slices.BinarySearchFunc(t.few, e, fieldTime.compare)
		t.few = slices.Insert(t.few, i, e)
		return
	}
	if t.at == nil {
		t.plant()
	}
	if old, had := t.at.Set(field, atMS); had {
		t.order.Delete(fieldTime{old, field})
	}
	t.order.Set(fieldTime{atMS, field})
}

// plant turns the slice into trees.
func (t *times) plant() {
	t.at = btree.NewMap[string, int64](0)
	t.order = btree.NewBTreeGOptions(earlier, btree.Options{NoLocks: true})
	for _, e := range t.few {
		t.at.Set(e.field, e.atMS)
		t.order.Set(e)
	}
	t.few = nil
}

// remove takes a field's deadline away and reports whether it had one.
func (t *times) remove(field string) bool {
	if t.at == nil {
		return t.removeFew(field)
	}
	atMS, had := t.at.Delete(field)
	if had {
		t.order.Delete(fieldTime{atMS, field})
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

// first returns the field that dies first; false if none has a deadline.
func (t *times) first() (fieldTime, bool) {
	if t.at != nil {
		return t.order.Min()
	}
	if len(t.few) == 0 {
		return fieldTime{}, false
	}
	return t.few[0], true
}

// last returns the field that dies last; false if none has a deadline.
func (t *times) last() (fieldTime, bool) {
	if t.at != nil {
		return t.order.Max()
	}
	if len(t.few) == 0 {
		return fieldTime{}, false
	}
	return t.few[len(t.few)-1], true
}

// each calls fn for every field with a deadline. Unlike first and last it may be
// called on what a snapshot holds.
func (t *times) each(fn func(field string, atMS int64)) {
	for _, e := range t.few {
		fn(e.field, e.atMS)
	}
	if t.at != nil {
		t.at.Scan(func(field string, atMS int64) bool {
			fn(field, atMS)
			return true
		})
	}
}

// clone returns the times for writing; t remains for a snapshot.
func (t *times) clone() *times {
	c := &times{few: slices.Clone(t.few), order: t.order, alarm: t.alarm}
	if t.at != nil {
		c.at = t.at.Copy()
	}
	return c
}
