package set

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/store/dict"
)

// BatchSize is how many members are read, or looked up, at a time.
const BatchSize = dict.Together

// Walk reads the members of sets in batches, in the order of Each. A set must not change meanwhile. A Walk is
// large and can be reused for the next set.
//
//	for members := w.Begin(s); len(members) > 0; members = w.Next() {
type Walk struct {
	s       *Set
	next    int // number of the next member; in a listpack its position, -1 at the end
	members [BatchSize][]byte
	text    [BatchSize * decimal.MaxIntLen]byte // memory for formatted integers
}

// Begin begins a walk over s, which may be nil. It returns the first members, at most BatchSize.
func (w *Walk) Begin(s *Set) [][]byte {
	w.s, w.next = s, 0
	switch {
	case s == nil:
		return nil
	case s.form() == packed:
		w.next = s.list().First()
	}
	return w.Next()
}

// Next returns the next members, or an empty slice at the end. The caller may use the slice until the next
// call. The members alias the set or the walk: the caller must not write to them. They are valid as long as
// the slice and until the set changes.
func (w *Walk) Next() [][]byte {
	n := 0
	switch w.s.form() {
	case ints:
		n = w.nextInts()
	case packed:
		n = w.nextPacked()
	case table:
		n = min(BatchSize, w.s.dict().Len()-w.next)
		for i := range n {
			key, _ := w.s.dict().At(w.next + i)
			w.members[i] = bytesOf(key)
		}
		w.next += n
	}
	if n == 0 {
		w.End()
	}
	return w.members[:n]
}

// End ends a walk early, so that it keeps no memory of the set alive.
func (w *Walk) End() {
	w.s = nil
	clear(w.members[:])
}

func (w *Walk) nextInts() (n int) {
	s, text := w.s.intset(), w.text[:0]
	n = min(BatchSize, s.len()-w.next)
	for i := range n {
		at := len(text)
		text = strconv.AppendInt(text, s.at(w.next+i), 10)
		w.members[i] = text[at:]
	}
	w.next += n
	return n
}

func (w *Walk) nextPacked() (n int) {
	lp, pos, text := w.s.list(), w.next, w.text[:0]
	for ; n < BatchSize && pos >= 0; n++ {
		v, next := lp.Step(pos)
		pos = next
		if v.IsInt {
			at := len(text)
			text = strconv.AppendInt(text, v.Int, 10)
			w.members[n] = text[at:]
			continue
		}
		w.members[n] = v.Bytes()
	}
	w.next = pos
	return n
}

// Select filters members, at most BatchSize. It keeps the members that are in the set, or, if in is false,
// the others. It returns them in their order, in the same slice.
func (s *Set) Select(members [][]byte, in bool) [][]byte {
	found := s.Which(members)
	if !in {
		found = ^found
	}
	kept := members[:0]
	for i, member := range members {
		if found>>i&1 != 0 {
			kept = append(kept, member)
		}
	}
	return kept
}

// Which looks up at most BatchSize members: bit i of the result reports whether members[i] is in the set.
func (s *Set) Which(members [][]byte) (found uint64) {
	switch {
	case len(members) == 0:
		return 0
	case s.form() == ints:
		return s.intset().which(members)
	case s.form() == packed:
		return s.whichPacked(members)
	}
	var slots [BatchSize]int
	s.dict().FindAll(members, slots[:])
	for i, slot := range slots[:len(members)] {
		if slot >= 0 {
			found |= 1 << i
		}
	}
	return found
}

// which is fast if members often ascend, as the members of another intset do.
func (s intset) which(members [][]byte) (found uint64) {
	at := 0
	for i, member := range members {
		n, ok := decimal.ParseInt(member)
		if !ok {
			continue
		}
		if at, ok = s.searchFrom(at, n); ok {
			found |= 1 << i
		}
	}
	return found
}

// fewMembers is the largest number of members for which a listpack is searched once for each.
const fewMembers = 3

// whichPacked walks the listpack once, with a small hash table of the members.
func (s *Set) whichPacked(members [][]byte) (found uint64) {
	if len(members) <= fewMembers {
		for i, member := range members {
			if s.find(member) >= 0 {
				found |= 1 << i
			}
		}
		return found
	}
	var first [2 * BatchSize]uint8 // by hash: 1 + the number of a member; 0: no member
	var after [BatchSize]uint8     // by number: 1 + the number of another member with the same hash
	seed := maphash.MakeSeed()
	for i, member := range members {
		h := maphash.Bytes(seed, member) % uint64(len(first))
		first[h], after[i] = uint8(i+1), first[h]
	}
	var text [decimal.MaxIntLen]byte
	lp := s.list()
	for pos := lp.First(); pos >= 0 && bits.OnesCount64(found) < len(members); {
		v, next := lp.Step(pos)
		pos = next
		element := v.Text(text[:])
		i := first[maphash.Bytes(seed, element)%uint64(len(first))]
		for ; i > 0; i = after[i-1] {
			if bytes.Equal(members[i-1], element) {
				found |= 1 << (i - 1)
			}
		}
	}
	return found
}
