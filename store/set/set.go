package set

import (
	"hash/maphash"
	"strconv"
	"unsafe"

	"lockserver/internal/decimal"
	"lockserver/store/cow"
	"lockserver/store/dict"
	"lockserver/store/listpack"
	"lockserver/store/piece"
)

// Limits limits the compact forms: set-max-intset-entries, set-max-listpack-entries and
// set-max-listpack-value.
type Limits struct {
	IntsetEntries int // members of an intset
	Entries       int // members of a listpack
	Value         int // bytes of a member of a listpack
}

// The forms. The compact forms are also the forms of a piece.
const (
	ints piece.Form = iota
	packed
	table
)

// Common holds the state that all sets of a store share: the clock of its cuts, and the seed of the dicts
// that sets grow into.
type Common struct {
	Epoch *cow.Epoch
	Seed  maphash.Seed
}

// Set is a set of byte strings. It is for reading; Edit writes. One goroutine at a time may use it, with one
// exception: after Clone another goroutine may read the old set.
//
// A compact set is one piece of memory: the intset or the listpack follows the head (package piece). In a
// table the head is the beginning of a tabled.
type Set struct {
	head piece.Head
}

// tabled is the header of a table.
type tabled struct {
	Set
	dict *dict.Dict[struct{}]
}

// Edit is a set for writing. When it grows it may move to another piece of memory: then the field Set
// changes, and the owner of the set must keep the new value.
type Edit struct {
	*Set
	common *Common
	name   []byte
}

// New returns an empty set. name is its key, or nil: see Head.
func New(c *Common, name []byte) Edit { return Edit{newInts(c, name, 0), c, name} }

// EditOf returns a set for writing. name is its key, or nil.
func EditOf(c *Common, name []byte, s *Set) Edit { return Edit{s, c, name} }

// Head returns the first word of the set. If it is the word of a piece with a name, the name is the key that
// the set was made for (package piece).
func (s *Set) Head() *piece.Head { return &s.head }

// newInts returns an empty intset with space for size bytes of members.
func newInts(c *Common, name []byte, size int) *Set {
	head := piece.New(c.Epoch.Now(), ints, intsetHeader+size, name)
	copy(head.Content(), emptyInts)
	return (*Set)(unsafe.Pointer(head))
}

// emptyInts is an empty intset of the least width.
const emptyInts = "\x02\x00\x00\x00\x00\x00\x00\x00"

// newTable returns a set with its members in a dict.
func newTable(c *Common, members *dict.Dict[struct{}]) *Set {
	t := &tabled{Set: Set{piece.Large(c.Epoch.Now())}, dict: members}
	return &t.Set
}

// form returns which form the set has.
func (s *Set) form() piece.Form {
	if s.head.Packed() {
		return s.head.Form()
	}
	return table
}

// dict returns the members of a table.
func (s *Set) dict() *dict.Dict[struct{}] { return (*tabled)(unsafe.Pointer(s)).dict }

// compact returns the bytes of an intset or of a listpack, with the free space after them; nil for a table.
func (s *Set) compact() []byte {
	switch s.form() {
	case ints:
		return s.intset()
	case packed:
		return s.list()
	}
	return nil
}

// Moved reports whether the set has moved to another piece, and must be read there.
func (s *Set) Moved() bool { return s.head.Left() }

// Stamp returns the epoch at which this set was made. If it is shared, the caller must replace the set by its
// Clone before it writes.
func (s *Set) Stamp() uint64 { return s.head.Stamp() }

// Clone returns a set for writing, after a cut that shares this set. The old set remains for the snapshot,
// which may call Len, Encoding, At, Each, Intset and Listpack.
func (s *Set) Clone(c *Common, name []byte) *Set {
	if f := s.form(); f != table {
		return copied(c, name, f, s.compact(), 0)
	}
	return newTable(c, s.dict().Clone())
}

// copied returns a compact set with a copy of these bytes, and space for more bytes.
func copied(c *Common, name []byte, f piece.Form, compact []byte, more int) *Set {
	head := piece.New(c.Epoch.Now(), f, len(compact)+more, name)
	copy(head.Content(), compact)
	return (*Set)(unsafe.Pointer(head))
}

// Copy returns a set with the same members and form that shares nothing with s, for the command COPY.
func (s *Set) Copy(c *Common, name []byte) *Set {
	if f := s.form(); f != table {
		return copied(c, name, f, s.compact(), 0)
	}
	members := dict.New[struct{}](c.Epoch, c.Seed)
	s.Each(func(member []byte) bool {
		members.Insert(members.Hash(member), member, struct{}{})
		return true
	})
	return newTable(c, members)
}

// Len returns the number of members.
func (s *Set) Len() int {
	switch s.form() {
	case ints:
		return s.intset().len()
	case packed:
		return s.list().Len()
	}
	return s.dict().Len()
}

// Encoding returns the form's name in OBJECT ENCODING: "intset", "listpack" or "hashtable".
func (s *Set) Encoding() string {
	switch s.form() {
	case ints:
		return "intset"
	case packed:
		return "listpack"
	}
	return "hashtable"
}

// Intset returns the bytes of the intset, in Redis' format; false if the set has another form. They are
// read-only.
func (s *Set) Intset() ([]byte, bool) {
	if s.form() != ints {
		return nil, false
	}
	return s.intset(), true
}

// Listpack returns the members as a listpack; false if the set has another form. It is read-only.
func (s *Set) Listpack() (listpack.List, bool) {
	if s.form() != packed {
		return nil, false
	}
	return s.list(), true
}

// Has reports whether member is in the set.
func (s *Set) Has(member []byte) bool {
	switch s.form() {
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
	return s.dict().Find(s.dict().Hash(member), member) >= 0
}

// NewFor returns an empty set in the right form for these members, with space for them.
func NewFor(c *Common, name []byte, lim Limits, members [][]byte) Edit {
	e := Edit{common: c, name: name}
	if _, ok := decimal.ParseInt(members[0]); ok && len(members) <= lim.IntsetEntries {
		e.Set = newInts(c, name, min(sizeOfInts(members), mostExpected))
		return e
	}
	if len(members) <= lim.Entries {
		e.Set = newPacked(c, name, min(sizeOfAll(members), mostExpected))
		return e
	}
	e.Set = newTable(c, dict.New[struct{}](c.Epoch, c.Seed))
	return e
}

// mostExpected is the largest size in bytes for which a new set is prepared; a larger set may become a table.
const mostExpected = 4096

// sizeOfInts returns the largest size in an intset of the integers among the members.
func sizeOfInts(members [][]byte) int {
	width := widthOf(0)
	for _, member := range members {
		if n, ok := decimal.ParseInt(member); ok {
			width = max(width, widthOf(n))
		}
	}
	return width * len(members)
}

// sizeOfAll returns how many bytes of a listpack the members take.
func sizeOfAll(members [][]byte) (n int) {
	for _, member := range members {
		n += listpack.EncodedLen(member)
	}
	return n
}

// Outgrows reports whether this number of members alone is too large for the form of the set.
func (s *Set) Outgrows(lim Limits, members int) bool {
	return s.form() == ints && members > lim.IntsetEntries || s.form() == packed && members > lim.Entries
}

// Expand converts a compact set to a table.
func (e *Edit) Expand() {
	e.mustOwn()
	if e.form() != table {
		e.toTable()
	}
}

// Add adds a member and reports whether it is new. The bytes are copied; they must not alias the set.
func (e *Edit) Add(lim Limits, member []byte) (added bool) {
	e.mustOwn()
	switch e.form() {
	case ints:
		return e.addToInts(lim, member)
	case packed:
		if e.find(member) >= 0 {
			return false
		}
		e.Append(lim, member)
		return true
	}
	return e.insert(member)
}

// Append adds a member that is known not to be in the set.
func (e *Edit) Append(lim Limits, member []byte) {
	e.mustOwn()
	switch e.form() {
	case ints:
		e.addToInts(lim, member)
		return
	case packed:
		if e.fits(lim, e.list().Len(), len(member)) {
			e.push(member)
			return
		}
		e.toTable()
	}
	e.dict().Insert(e.dict().Hash(member), member, struct{}{})
}

// addToInts adds a member to an intset. If the intset has too many members, it becomes a table. A member that
// is not an integer makes it a listpack, or a table if it does not fit.
func (e *Edit) addToInts(lim Limits, member []byte) (added bool) {
	if n, ok := decimal.ParseInt(member); ok {
		added = e.addInt(n)
		if added && e.intset().len() > min(lim.IntsetEntries, maxIntsetEntries) {
			e.toTable()
		}
		return added
	}
	longest := 0
	if n := e.intset().len(); n > 0 {
		first, last := listpack.Integer(e.intset().at(0)), listpack.Integer(e.intset().at(n-1))
		longest = max(first.Len(), last.Len())
	}
	if longest <= lim.Value && e.fits(lim, e.Len(), len(member)) {
		e.toListpack(member)
		e.push(member)
		return true
	}
	e.toTable()
	return e.insert(member)
}

// insert adds a member to the table.
func (e *Edit) insert(member []byte) (added bool) {
	sum := e.dict().Hash(member)
	if e.dict().Find(sum, member) >= 0 {
		return false
	}
	e.dict().Insert(sum, member, struct{}{})
	return true
}

// Remove removes a member and reports whether it was in the set. The bytes may alias the set, and are then
// changed.
func (e *Edit) Remove(member []byte) (removed bool) {
	e.mustOwn()
	switch e.form() {
	case ints:
		if n, ok := decimal.ParseInt(member); ok {
			_, removed = e.intset().remove(n)
		}
	case packed:
		pos := e.find(member)
		if pos < 0 {
			return false
		}
		e.list().Delete(pos, 1)
		removed = true
	case table:
		sum := e.dict().Hash(member)
		slot := e.dict().Find(sum, member)
		if slot < 0 {
			return false
		}
		e.dict().Delete(sum, slot)
		return true
	}
	if b := e.compact(); cap(b) > 256 && len(b) < cap(b)/4 {
		e.move(b, 0)
	}
	return removed
}

// At returns member number i, 0..Len-1. It aliases the set, or the memory of dst if the member is an integer.
// The caller must not write to it. It is valid until the next change of the set. dst is scratch and may be
// nil. A random i is a fair choice. O(i) for a listpack, which is small.
func (s *Set) At(i int, dst []byte) (member []byte) {
	switch s.form() {
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
	key, _ := s.dict().At(i)
	return bytesOf(key)
}

// Each calls fn for every member until fn returns false; the members of an intset come in ascending order.
// The slice is only valid during the call, and fn must not write to it. fn must not change the set.
func (s *Set) Each(fn func(member []byte) bool) {
	switch s.form() {
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
		s.dict().Each(func(key string, _ *struct{}) bool { return fn(bytesOf(key)) })
	}
}

// Scan calls fn for about count members from cursor on and returns the cursor for the next call; 0 begins and
// ends a scan. A member that stays for the whole scan is seen at least once. The compact forms are small, so
// all their members are visited in one call. The rules for fn are those of Each.
func (s *Set) Scan(cursor uint64, count int, fn func(member []byte)) uint64 {
	if s.form() == table {
		return s.dict().Scan(cursor, count, func(key string, _ *struct{}) { fn(bytesOf(key)) })
	}
	s.Each(func(member []byte) bool {
		fn(member)
		return true
	})
	return 0
}

func (e *Edit) mustOwn() {
	if e.common.Epoch.Shared(e.Stamp()) {
		panic("set: write to a header that a snapshot reads")
	}
}

// bytesOf returns the bytes of a string, which the caller must not write to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Prefetch prepares look-ups of members: see dict.Dict.PrefetchKeys.
func (s *Set) Prefetch(members [][]byte) uint64 {
	if s.form() != table {
		return 0
	}
	return s.dict().PrefetchKeys(members, func(*struct{}) unsafe.Pointer { return nil })
}
