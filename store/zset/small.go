package zset

import (
	"bytes"
	"strconv"

	"lockserver/store/listpack"
)

const (
	// maxListpack bounds the small form whatever the limits say: a listpack's own
	// size field has 32 bits. Redis stops at the same size.
	maxListpack = 1 << 30
	// maxScore is the most that a score takes in a listpack: the longest text of one is 25 bytes.
	maxScore = 27
	// maxElement is the most that an element takes beyond its bytes.
	maxElement = 10
)

// fits reports whether a new member of so many bytes may be added to the listpack.
func (z *ZSet) fits(lim Limits, length int) bool {
	return z.Len() < lim.Entries && length <= lim.Value && len(z.lp)+length+maxElement+maxScore < maxListpack
}

// smallFind returns the position of a member, or -1.
func (z *ZSet) smallFind(member []byte) int {
	if z.lp == nil {
		return -1
	}
	return z.lp.Find(z.lp.First(), member, 1)
}

// smallInsert adds a member that is not there, in its place.
func (z *ZSet) smallInsert(member []byte, score float64) {
	var text [maxScore]byte
	v := packedScore(text[:], score)
	score = scoreOf(v)
	z.reserve(len(member) + maxElement + v.Len() + 2)
	pos := z.placeOf(member, score)
	if pos < 0 {
		z.lp = z.lp.Append(member)
		if v.IsInt {
			z.lp = z.lp.AppendInt(v.Int)
		} else {
			z.lp = z.lp.Append(v.Bytes())
		}
		return
	}
	spelled := v.Bytes()
	if v.IsInt {
		spelled = strconv.AppendInt(text[:0], v.Int, 10)
	}
	z.lp = z.lp.Insert(pos, spelled)
	z.lp = z.lp.Insert(pos, member)
}

// placeOf returns the position of the member before which this one belongs, -1 if
// it belongs at the end.
func (z *ZSet) placeOf(member []byte, score float64) int {
	last := z.lp.Last()
	if last < 0 || scoreOf(z.lp.Get(last)) < score {
		return -1 // scores that only grow are common
	}
	var text [20]byte
	pos := z.lp.First()
	for pos >= 0 {
		at := z.lp.Next(pos)
		other := scoreOf(z.lp.Get(at))
		if other > score || other == score && bytes.Compare(z.lp.Get(pos).Text(text[:]), member) > 0 {
			return pos
		}
		pos = z.lp.Next(at)
	}
	return -1
}

// smallMove gives the member at pos another score and reports whether it is
// another one.
func (z *ZSet) smallMove(pos int, member []byte, score float64) (changed bool) {
	if scoreOf(z.lp.Get(z.lp.Next(pos))) == score {
		return false
	}
	z.lp = z.lp.Delete(pos, 2)
	z.smallInsert(member, score)
	return true
}

// reserve makes room for so many more bytes.
func (z *ZSet) reserve(n int) {
	if z.lp == nil {
		z.lp = listpack.NewSize(n)
	} else {
		z.lp = z.lp.Reserve(n)
	}
}

func (z *ZSet) smallRemove(member []byte) bool {
	pos := z.smallFind(member)
	if pos < 0 {
		return false
	}
	z.lp = z.lp.Delete(pos, 2).Trim()
	return true
}

// smallSeek returns the position of the member of a rank, from the nearer end.
func (z *ZSet) smallSeek(rank int) int {
	n := z.Len()
	if rank < n/2 {
		pos := z.lp.First()
		for range 2 * rank {
			pos = z.lp.Next(pos)
		}
		return pos
	}
	pos := z.lp.Last()
	for range 2*(n-rank) - 1 {
		pos = z.lp.Prev(pos)
	}
	return pos
}

func (z *ZSet) smallAt(rank int, dst []byte) (member []byte, score float64) {
	pos := z.smallSeek(rank)
	return z.lp.Get(pos).Text(dst), scoreOf(z.lp.Get(z.lp.Next(pos)))
}

func (z *ZSet) smallRange(from, to int, fn func(member []byte, score float64) bool) {
	if from >= to {
		return
	}
	var text [20]byte
	pos := z.smallSeek(from)
	for range to - from {
		member, at := z.lp.Step(pos)
		score, next := z.lp.Step(at)
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
	var text [20]byte
	pos := z.smallSeek(to - 1)
	for range to - from {
		if !fn(z.lp.Get(pos).Text(text[:]), scoreOf(z.lp.Get(z.lp.Next(pos)))) {
			return
		}
		if pos = z.lp.Prev(pos); pos >= 0 {
			pos = z.lp.Prev(pos)
		}
	}
}
