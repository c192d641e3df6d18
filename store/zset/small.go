package zset

import (
	"bytes"
	"strconv"
	"unsafe"

	"lockserver/store/listpack"
	"lockserver/store/piece"
)

const (
	// maxListpack limits the small form for any Limits, because a listpack's size field has 32 bits. Redis
	// has the same limit.
	maxListpack = 1 << 30
	// maxScore is the largest size of a score in a listpack: the longest text of a score has 25 bytes.
	maxScore = 27
	// maxElement is the largest size of an element besides its bytes.
	maxElement = 10
)

// fits reports whether a new member of this length can be added to the listpack.
func (z *ZSet) fits(lim Limits, length int) bool {
	return z.Len() < lim.Entries && length <= lim.Value && len(z.lp())+length+maxElement+maxScore < maxListpack
}

// smallFind returns the position of a member, or -1.
func (z *ZSet) smallFind(member []byte) int {
	lp := z.lp()
	return lp.Find(lp.First(), member, 1)
}

// smallInsert inserts a new member at its place in the order.
func (e *Edit) smallInsert(member []byte, score float64) {
	var text [maxScore]byte
	v := packedScore(text[:], score)
	score = scoreOf(v)
	lp := e.lp()
	if len(member)+maxElement+encodedScore(v) > cap(lp)-len(lp) {
		lp = e.grow(lp, listpack.EncodedLen(member)+encodedScore(v))
	}
	pos := e.placeOf(member, score)
	if pos < 0 {
		if lp = lp.Append(member); v.IsInt {
			lp = lp.AppendInt(v.Int)
		} else {
			lp = lp.Append(v.Bytes())
		}
		e.keep(lp)
		return
	}
	spelled := v.Bytes()
	if v.IsInt {
		spelled = strconv.AppendInt(text[:0], v.Int, 10)
	}
	e.keep(lp.Insert(pos, spelled).Insert(pos, member))
}

// encodedScore returns the size of a score in a listpack.
func encodedScore(v listpack.Value) int {
	if v.IsInt {
		return listpack.IntLen(v.Int)
	}
	return v.Len() + 2
}

// grow returns the listpack with space for more bytes.
func (e *Edit) grow(lp listpack.List, more int) listpack.List {
	if need := len(lp) + more; need > cap(lp) {
		e.become(packed(e.common, e.name, lp, piece.CapacityFor(need)-len(lp)))
	}
	return e.lp()
}

// keep stores the changed listpack. It stays in place.
func (e *Edit) keep(lp listpack.List) {
	if unsafe.SliceData(lp) != unsafe.SliceData(e.head.Content()) {
		if invariants {
			panic("zset: a listpack that has left its piece")
		}
		e.become(packed(e.common, e.name, lp, 0))
	}
}

// placeOf returns the position of the member before which this member belongs; -1 if it belongs at the end.
func (z *ZSet) placeOf(member []byte, score float64) int {
	lp := z.lp()
	last := lp.Last()
	if last < 0 || scoreOf(lp.Get(last)) < score {
		return -1 // growing scores are common
	}
	var text [20]byte
	pos := lp.First()
	for pos >= 0 {
		at := lp.Next(pos)
		other := scoreOf(lp.Get(at))
		if other > score || other == score && bytes.Compare(lp.Get(pos).Text(text[:]), member) > 0 {
			return pos
		}
		pos = lp.Next(at)
	}
	return -1
}

// smallMove gives the member at pos another score and reports whether the score has changed.
func (e *Edit) smallMove(pos int, member []byte, score float64) (changed bool) {
	lp := e.lp()
	if scoreOf(lp.Get(lp.Next(pos))) == score {
		return false
	}
	e.keep(lp.Delete(pos, 2))
	e.smallInsert(member, score)
	return true
}

func (e *Edit) smallRemove(member []byte) bool {
	pos := e.smallFind(member)
	if pos < 0 {
		return false
	}
	lp := e.lp().Delete(pos, 2)
	if cap(lp) > 256 && len(lp) < cap(lp)/4 {
		e.become(packed(e.common, e.name, lp, 0))
	}
	return true
}

// smallSeek returns the position of the member with a rank. It searches from the nearer end.
func (z *ZSet) smallSeek(rank int) int {
	lp := z.lp()
	n := z.Len()
	if rank < n/2 {
		pos := lp.First()
		for range 2 * rank {
			pos = lp.Next(pos)
		}
		return pos
	}
	pos := lp.Last()
	for range 2*(n-rank) - 1 {
		pos = lp.Prev(pos)
	}
	return pos
}

func (z *ZSet) smallAt(rank int, dst []byte) (member []byte, score float64) {
	lp := z.lp()
	pos := z.smallSeek(rank)
	return lp.Get(pos).Text(dst), scoreOf(lp.Get(lp.Next(pos)))
}

func (z *ZSet) smallRange(from, to int, fn func(member []byte, score float64) bool) {
	if from >= to {
		return
	}
	lp := z.lp()
	var text [20]byte
	pos := z.smallSeek(from)
	for range to - from {
		member, at := lp.Step(pos)
		score, next := lp.Step(at)
		if !fn(member.Text(text[:]), scoreOf(score)) {
			return
		}
		pos = next
	}
}

func (z *ZSet) smallRangeDown(from, to int, fn func(member []byte, score float64) bool) {
	if from >= to {
		return
	}
	lp := z.lp()
	var text [20]byte
	pos := z.smallSeek(to - 1)
	for range to - from {
		if !fn(lp.Get(pos).Text(text[:]), scoreOf(lp.Get(lp.Next(pos)))) {
			return
		}
		if pos = lp.Prev(pos); pos >= 0 {
			pos = lp.Prev(pos)
		}
	}
}
