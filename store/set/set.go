package set

import (
	"hash/maphash"
	"slices"
	"strconv"
	"unsafe"

	"lockserver/internal/decimal"
	"lockserver/store/cow"
	"lockserver/store/dict"
	"lockserver/store/listpack"
)

// Limits say up to which size a set stays compact: set-max-intset-entries,
// set-max-listpack-entries and set-max-listpack-value.
type Limits struct {
	IntsetEntries int // members of an intset
	Entries       int // members of a listpack
	Value         int // bytes of a member of a listpack
}

type form uint8

const (
	ints form = iota
	packed
	table
)

// Set is a set of byte strings. One goroutine at a time may use it, except that
// after Clone the old header may be read elsewhere.
type Set struct {
	ep      *cow.Epoch
	seed    maphash.Seed
	compact []byte               // an intset or a listpack, by form; nil for a table
	table   *dict.Dict[struct{}] // nil unless form is table
	stamp   uint64
	form    form
}

// New returns an empty set. The dict it may grow into hashes with seed.
func New(ep *cow.Epoch, seed maphash.Seed) *Set {
	return &Set{ep: ep, seed: seed, stamp: ep.Now()}
}

// Stamp returns the epoch at which this header was made. If it is shared, the
// set must be replaced by its Clone before it is written to.
func (s *Set) Stamp() uint64 { return s.stamp }

// Clone returns a header for writing, after a cut that shares this one. The old
// header remains for the snapshot: Len, Encoding, At, Each, Intset, Listpack.
func (s *Set) Clone() *Set {
	clone := &Set{ep: s.ep, seed: s.seed, form: s.form, stamp: s.ep.Now()}
	if s.form == table {
		clone.table = s.table.Clone()
	} else {
		clone.compact = append([]byte(nil), s.compact...)
	}
	return clone
}

// Copy returns a set of the same members and form that shares nothing with s, as COPY makes it.
func (s *Set) Copy() *Set {
	c := New(s.ep, s.seed)
	if c.form = s.form; s.form != table {
		c.compact = slices.Clone(s.compact)
		return c
	}
	c.table = dict.New[struct{}](s.ep, s.seed)
	s.Each(func(member []byte) bool {
		c.table.Insert(c.table.Hash(member), member, struct{}{})
		return true
	})
	return c
}

// Len returns the number of members.
func (s *Set) Len() int {
	switch s.form {
	case ints:
		return s.intset().len()
	case packed:
		return s.list().Len()
	}
	return s.table.Len()
}

// Encoding returns what OBJECT ENCODING calls the form: "intset", "listpack" or
// "hashtable".
func (s *Set) Encoding() string {
	switch s.form {
	case ints:
		return "intset"
	case packed:
		return "listpack"
	}
	return "hashtable"
}

// Intset returns the bytes of the intset, in Redis' format; false if the set has
// another form. They are to be read only.
func (s *Set) Intset() ([]byte, bool) {
	if s.form != ints {
		return nil, false
	}
	if s.compact == nil {
		return []byte{2, 0, 0, 0, 0, 0, 0, 0}, true
	}
	return s.compact, true
}

// Listpack returns the members as a listpack; false if the set has another form.
// It is to be read only.
func (s *Set) Listpack() (listpack.List, bool) {
	if s.form != packed {
		return nil, false
	}
	return s.list(), true
}

// Has reports whether member is in the set.
func (s *Set) Has(member []byte) bool {
	switch s.form {
	case ints:
		n, ok := decimal.ParseInt(member)
		if !ok {
			return false
		}
		_, found := s.intset().search(n)
		return found
	case packed:
		return s.find(member) >= 0
	}
	return s.table.Find(s.table.Hash(member), member) >= 0
}

// NewFor returns an empty set in the form that suits so many members, of which this is the first.
func NewFor(ep *cow.Epoch, seed maphash.Seed, lim Limits, first []byte, members int) *Set {
	s := New(ep, seed)
	if _, ok := decimal.ParseInt(first); ok && members <= lim.IntsetEntries {
		return s
	}
	if members <= lim.Entries {
		s.toListpack(len(first))
		return s
	}
	s.toTable()
	return s
}

// Outgrows reports whether so many members alone are too many for the form of the set.
func (s *Set) Outgrows(lim Limits, members int) bool {
	return s.form == ints && members > lim.IntsetEntries || s.form == packed && members > lim.Entries
}

// Expand makes a table of a set that is none.
func (s *Set) Expand() {
	s.mustOwn()
	if s.form != table {
		s.toTable()
	}
}

// Add puts a member in and reports whether it is new. The bytes are copied; they
// must not alias the set.
func (s *Set) Add(lim Limits, member []byte) (added bool) {
	s.mustOwn()
	switch s.form {
	case ints:
		return s.addToInts(lim, member)
	case packed:
		if s.find(member) >= 0 {
			return false
		}
		s.Append(lim, member)
		return true
	}
	return s.insert(member)
}

// Append is Add for a member that is known not to be in the set.
func (s *Set) Append(lim Limits, member []byte) {
	s.mustOwn()
	switch s.form {
	case ints:
		s.addToInts(lim, member)
		return
	case packed:
		if s.fits(lim, s.list().Len(), len(member)) {
			s.push(member)
			return
		}
		s.toTable()
	}
	s.table.Insert(s.table.Hash(member), member, struct{}{})
}

// addToInts adds to an intset. One member too many, or a member that is no
// integer, ends that form: a number too many leads to a table, a string to a
// listpack if the set fits into one.
func (s *Set) addToInts(lim Limits, member []byte) (added bool) {
	if n, ok := decimal.ParseInt(member); ok {
		s.compact, added = s.intset().add(n)
		if added && s.intset().len() > min(lim.IntsetEntries, maxIntsetEntries) {
			s.toTable()
		}
		return added
	}
	longest := 0
	if n := s.intset().len(); n > 0 {
		first, last := listpack.Integer(s.intset().at(0)), listpack.Integer(s.intset().at(n-1))
		longest = max(first.Len(), last.Len())
	}
	if longest <= lim.Value && s.fits(lim, s.Len(), len(member)) {
		s.toListpack(len(member))
		s.push(member)
		return true
	}
	s.toTable()
	return s.insert(member)
}

// insert adds a member to the table.
func (s *Set) insert(member []byte) (added bool) {
	sum := s.table.Hash(member)
	if s.table.Find(sum, member) >= 0 {
		return false
	}
	s.table.Insert(sum, member, struct{}{})
	return true
}

// Remove takes a member out and reports whether it was in. The bytes may alias
// the set, and are then no longer what they were.
func (s *Set) Remove(member []byte) (removed bool) {
	s.mustOwn()
	switch s.form {
	case ints:
		if n, ok := decimal.ParseInt(member); ok {
			s.compact, removed = s.intset().remove(n)
		}
	case packed:
		pos := s.find(member)
		if pos < 0 {
			return false
		}
		s.compact, removed = s.list().Delete(pos, 1), true
	case table:
		sum := s.table.Hash(member)
		slot := s.table.Find(sum, member)
		if slot < 0 {
			return false
		}
		s.table.Delete(sum, slot)
		return true
	}
	if cap(s.compact) > 256 && len(s.compact) < cap(s.compact)/4 {
		s.compact = slices.Clone(s.compact)
	}
	return removed
}

// At returns member number i, 0..Len-1. It aliases the set, or the storage of
// dst where an integer has to be spelled out; it must not be written to and is
// valid until the next change of the set. dst is scratch and may be nil. A
// random i is a fair pick. O(i) for a listpack, which is small.
func (s *Set) At(i int, dst []byte) (member []byte) {
	switch s.form {
	case ints:
		return strconv.AppendInt(dst[:0], s.intset().at(i), 10)
	case packed:
		lp := s.list()
		pos := lp.First()
		for range i {
			pos = lp.Next(pos)
		}
		return lp.Get(pos).Text(dst)
	}
	key, _ := s.table.At(i)
	return bytesOf(key)
}

// Each calls fn for every member until fn returns false, those of an intset in
// ascending order. The slice is valid during the call only and must not be
// written to; fn must not change the set.
func (s *Set) Each(fn func(member []byte) bool) {
	switch s.form {
	case ints:
		var text []byte
		for i := range s.Len() {
			text = strconv.AppendInt(text[:0], s.intset().at(i), 10)
			if !fn(text) {
				return
			}
		}
	case packed:
		eachElement(s.list(), fn)
	case table:
		s.table.Each(func(key string, _ *struct{}) bool { return fn(bytesOf(key)) })
	}
}

// Scan calls fn for about count members from cursor on and returns the cursor
// for the next call; 0 begins and ends. A member that stays for the whole scan
// is seen at least once. The compact forms are small and come all at once. The
// rules for fn are those of Each.
func (s *Set) Scan(cursor uint64, count int, fn func(member []byte)) uint64 {
	if s.form == table {
		return s.table.Scan(cursor, count, func(key string, _ *struct{}) { fn(bytesOf(key)) })
	}
	s.Each(func(member []byte) bool {
		fn(member)
		return true
	})
	return 0
}

func (s *Set) mustOwn() {
	if s.ep.Shared(s.stamp) {
		panic("set: write to a header that a snapshot reads")
	}
}

// bytesOf returns the bytes of a string, which must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Prefetch prepares the look-ups of members that are about to come: see dict.Dict.PrefetchKeys.
func (s *Set) Prefetch(members [][]byte) uint64 {
	if s.form != table {
		return 0
	}
	return s.table.PrefetchKeys(members, func(*struct{}) uint64 { return 0 })
}
