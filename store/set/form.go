package set

import (
	"encoding/binary"
	"strconv"
	"unsafe"

	"lockserver/internal/decimal"
	"lockserver/store/dict"
	"lockserver/store/listpack"
	"lockserver/store/piece"
)

const (
	// maxListpack limits a listpack for any Limits, because its size field has 32 bits. Redis has the same
	// limit.
	maxListpack = 1 << 30
	// maxIntsetEntries limits an intset for any Limits: 8 GB at 8 bytes each.
	maxIntsetEntries = 1 << 30
	// maxElement is the largest size of an element of a listpack besides its bytes.
	maxElement = 10
)

// intset returns an intset's bytes.
func (s *Set) intset() intset {
	b := intset(s.head.Content())
	return b[:intsetHeader+int(binary.LittleEndian.Uint32(b[4:]))*b.width()]
}

// list returns a listpack's bytes.
func (s *Set) list() listpack.List { return listpack.In(s.head.Content()) }

// find returns the position of a member in the listpack, or -1.
func (s *Set) find(member []byte) int {
	lp := s.list()
	return lp.Find(lp.First(), member, 0)
}

// fits reports whether a compact set of n members may get another member of this length in a listpack.
func (s *Set) fits(lim Limits, n, length int) bool {
	return n < lim.Entries && length <= lim.Value && len(s.compact())+length+maxElement*(n+1) < maxListpack
}

// push appends a member to the listpack.
func (e *Edit) push(member []byte) {
	lp := e.list()
	if maxLen(len(member)) > cap(lp)-len(lp) {
		lp = e.grow(lp, listpack.EncodedLen(member))
	}
	e.keep(lp.Append(member))
}

// addInt adds an integer to an intset.
func (e *Edit) addInt(n int64) (added bool) {
	is := e.intset()
	if w := widthOf(n); w > is.width() {
		e.move(is.widen(w), w)
	} else if len(is)+is.width() > cap(is) {
		if _, found := is.search(n); found {
			return false
		}
		e.grow(is, is.width())
	}
	is, added = e.intset().add(n)
	e.keep(is)
	return added
}

// grow makes space for more bytes, and returns the present bytes.
func (e *Edit) grow(compact []byte, more int) []byte {
	if need := len(compact) + more; need > cap(compact) {
		e.move(compact, piece.CapacityFor(need)-len(compact))
	}
	return e.compact()
}

// move copies these bytes of a compact set to another piece, with space for more bytes.
func (e *Edit) move(compact []byte, more int) {
	e.become(copied(e.common, e.name, e.head.Form(), compact, more))
}

// become replaces the piece, or header, of the set.
func (e *Edit) become(s *Set) {
	e.head.Leave()
	e.Set = s
}

// keep stores the changed bytes. They stay in place.
func (e *Edit) keep(compact []byte) {
	if unsafe.SliceData(compact) != unsafe.SliceData(e.head.Content()) {
		if invariants {
			panic("set: bytes that have left their piece")
		}
		e.move(compact, 0)
	}
}

// maxLen returns the largest size of a member in a listpack.
func maxLen(length int) int {
	if length < 64 {
		return length + 2
	}
	return length + maxElement
}

// newPacked returns an empty listpack with space for size bytes of members.
func newPacked(c *Common, name []byte, size int) *Set {
	head := piece.New(c.Epoch.Now(), packed, listpack.MinBytes+size, name)
	listpack.NewIn(head.Content())
	return (*Set)(unsafe.Pointer(head))
}

// toListpack converts an intset to a listpack with space for another member.
func (e *Edit) toListpack(member []byte) {
	old, size := e.intset(), 0
	for i := range old.len() {
		size += listpack.IntLen(old.at(i))
	}
	s := newPacked(e.common, e.name, size+listpack.EncodedLen(member))
	lp := s.list()
	for i := range old.len() {
		lp = lp.AppendInt(old.at(i))
	}
	e.become(s)
	e.keep(lp)
}

// Pack gives an empty set the form of a listpack, for a result of unknown size.
func (e *Edit) Pack() { e.become(newPacked(e.common, e.name, 0)) }

// ToInts converts a set of a few integers to an intset, from any form.
func (e *Edit) ToInts(lim Limits) {
	if e.form() == ints || e.Len() > min(lim.IntsetEntries, maxIntsetEntries) {
		return
	}
	is := intset(emptyInts)
	all := true
	e.Each(func(member []byte) bool {
		var n int64
		if n, all = decimal.ParseInt(member); all {
			is, _ = is.add(n)
		}
		return all
	})
	if all {
		e.become(copied(e.common, e.name, ints, is, 0))
	}
}

// toTable converts a compact set to a dict.
func (e *Edit) toTable() {
	members := dict.New[struct{}](e.common.Epoch, e.common.Seed)
	e.Each(func(member []byte) bool {
		members.Insert(members.Hash(member), member, struct{}{})
		return true
	})
	e.become(newTable(e.common, members))
}

func eachElement(lp listpack.List, fn func(member []byte) bool) {
	var text []byte // only integers need it
	for pos := lp.First(); pos >= 0; {
		var v listpack.Value
		v, pos = lp.Step(pos)
		member := v.Bytes()
		if v.IsInt {
			text = strconv.AppendInt(text[:0], v.Int, 10)
			member = text
		}
		if !fn(member) {
			return
		}
	}
}
