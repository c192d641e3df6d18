package set

import (
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/store/dict"
	"lockserver/store/listpack"
)

const (
	// maxListpack bounds a listpack whatever the limits say: its own size field
	// has 32 bits. Redis stops at the same size.
	maxListpack = 1 << 30
	// maxIntsetEntries bounds an intset in the same way: 8 GB of 8 bytes each.
	maxIntsetEntries = 1 << 30
	// maxElement is the most that an element of a listpack takes beyond its bytes.
	maxElement = 10
)

func (s *Set) intset() intset      { return s.compact }
func (s *Set) list() listpack.List { return s.compact }

// find returns the position of a member in the listpack, or -1.
func (s *Set) find(member []byte) int {
	lp := s.list()
	return lp.Find(lp.First(), member, 0)
}

// fits reports whether a compact set of n members may have one more, of so many
// bytes, in a listpack.
func (s *Set) fits(lim Limits, n, length int) bool {
	return n < lim.Entries && length <= lim.Value && len(s.compact)+length+maxElement*(n+1) < maxListpack
}

// push appends a member to the listpack.
func (s *Set) push(member []byte) {
	s.compact = s.list().Reserve(room(len(member))).Append(member)
}

// room returns how many bytes of a listpack a member takes at most.
func room(length int) int {
	if length < 64 {
		return length + 2
	}
	return length + maxElement
}

// toListpack turns an intset into a listpack that has room for one more member
// of so many bytes.
func (s *Set) toListpack(length int) {
	old := s.intset()
	lp := listpack.NewSize(room(length) + old.len()*(old.width()+2))
	for i := range old.len() {
		lp = lp.AppendInt(old.at(i))
	}
	s.compact, s.form = lp, packed
}

// Pack gives an empty set the form of a listpack: for a result of which nobody knows how large it gets.
func (s *Set) Pack() { s.toListpack(0) }

// ToInts gives a set of integers that are few enough the form of an intset, whatever form it has.
func (s *Set) ToInts(lim Limits) {
	if s.form == ints || s.Len() > min(lim.IntsetEntries, maxIntsetEntries) {
		return
	}
	var is intset
	all := true
	s.Each(func(member []byte) bool {
		var n int64
		if n, all = decimal.ParseInt(member); all {
			is, _ = is.add(n)
		}
		return all
	})
	if all {
		s.compact, s.table, s.form = is, nil, ints
	}
}

// toTable turns a compact set into a dict.
func (s *Set) toTable() {
	members := dict.New[struct{}](s.ep, s.seed)
	s.Each(func(member []byte) bool {
		members.Insert(members.Hash(member), member, struct{}{})
		return true
	})
	s.table, s.compact, s.form = members, nil, table
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
