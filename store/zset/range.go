package zset

import (
	"bytes"
	"unsafe"
)

// ScoreRange is an interval of scores. An open end is not part of it.
type ScoreRange struct {
	Min, Max         float64
	MinOpen, MaxOpen bool
}

// Holds reports whether a score is in the interval.
func (r ScoreRange) Holds(score float64) bool { return !r.below(score) && r.upTo(score) }

// below reports whether a score is below the interval.
func (r ScoreRange) below(score float64) bool {
	return score < r.Min || r.MinOpen && score == r.Min
}

// upTo reports whether a score is not above the interval.
func (r ScoreRange) upTo(score float64) bool {
	return score < r.Max || !r.MaxOpen && score == r.Max
}

// LexBound is an end of an interval of members: a member, or a value below or above all members.
type LexBound struct {
	Member []byte
	Open   bool // Member itself is not part of the interval
	// Infinite is -1 for below all members, 1 for above all; Member is then ignored.
	Infinite int
}

// LexRange is an interval of members, in the order of their bytes.
type LexRange struct {
	Min, Max LexBound
}

func (b *LexBound) compare(member []byte) int {
	if b.Infinite != 0 {
		return -b.Infinite
	}
	return bytes.Compare(member, b.Member)
}

// below reports whether a member is below the interval.
func (r *LexRange) below(member []byte) bool {
	c := r.Min.compare(member)
	return c < 0 || c == 0 && r.Min.Open
}

// upTo reports whether a member is not above the interval.
func (r *LexRange) upTo(member []byte) bool {
	c := r.Max.compare(member)
	return c < 0 || c == 0 && !r.Max.Open
}

// empty reports whether the interval cannot contain a member.
func (r *LexRange) empty() bool {
	if r.Min.Infinite != 0 || r.Max.Infinite != 0 {
		return r.Min.Infinite > r.Max.Infinite || r.Min.Infinite != 0 && r.Min.Infinite == r.Max.Infinite
	}
	c := bytes.Compare(r.Min.Member, r.Max.Member)
	return c > 0 || c == 0 && (r.Min.Open || r.Max.Open)
}

// Rank returns the number of members before this member, and its score; false if the member does not exist.
func (z *ZSet) Rank(member []byte) (rank int, score float64, ok bool) {
	if z.table() == nil {
		return z.smallRank(member)
	}
	score, ok = z.Score(member)
	if !ok {
		return 0, 0, false
	}
	name := unsafe.String(unsafe.SliceData(member), len(member))
	return z.table().order.lead(func(it *item) bool { return it.before(score, name) }), score, true
}

// At returns the member with a rank, 0..Len-1, and its score. The rules for the bytes are those of Pick.
func (z *ZSet) At(rank int, dst []byte) (member []byte, score float64) {
	if z.table() == nil {
		return z.smallAt(rank, dst)
	}
	it := z.table().order.at(rank)
	return it.member.Bytes(), it.score
}

// Range calls fn for the members of ranks from..to-1, 0 <= from and to <= Len, in ascending order until fn
// returns false. The slice is only valid during the call, and fn must not write to it. fn must not change the
// sorted set.
func (z *ZSet) Range(from, to int, fn func(member []byte, score float64) bool) {
	if z.table() == nil {
		z.smallRange(from, to, fn)
		return
	}
	z.table().order.ascend(from, to, func(it *item) bool { return fn(it.member.Bytes(), it.score) })
}

// RangeDown does what Range does, in descending order: it begins with rank to-1.
func (z *ZSet) RangeDown(from, to int, fn func(member []byte, score float64) bool) {
	if z.table() == nil {
		z.smallRangeDown(from, to, fn)
		return
	}
	z.table().order.descend(from, to, func(it *item) bool { return fn(it.member.Bytes(), it.score) })
}

// ByScore returns the ranks from..to-1 of the members with scores in r. If there are no such members, from
// equals to.
func (z *ZSet) ByScore(r ScoreRange) (from, to int) {
	if z.table() == nil {
		return z.smallByScore(r)
	}
	from = z.table().order.lead(func(it *item) bool { return r.below(it.score) })
	to = z.table().order.lead(func(it *item) bool { return r.upTo(it.score) })
	return from, max(from, to)
}

// LastUpTo returns the last member with a score of at most most, and its score; ok is false if there is none.
// The rules for the bytes are those of Pick. It is faster than ByScore and At.
func (z *ZSet) LastUpTo(most float64, dst []byte) (member []byte, score float64, ok bool) {
	if t := z.table(); t != nil {
		it := t.order.lastUpTo(most)
		if it == nil {
			return nil, 0, false
		}
		return it.member.Bytes(), it.score, true
	}
	_, to := z.smallByScore(ScoreRange{Min: most, Max: most})
	if to == 0 {
		return nil, 0, false
	}
	member, score = z.smallAt(to-1, dst)
	return member, score, true
}

// ByLex returns the ranks from..to-1 of the members in r. If there are no such members, from equals to. The
// result is only meaningful if all members have the same score. If they have not, a listpack gives the result
// of Redis, which depends on whether the range is requested from its end (down).
func (z *ZSet) ByLex(r LexRange, down bool) (from, to int) {
	switch {
	case r.empty():
		return 0, 0
	case z.table() == nil:
		return z.smallByLex(&r, down)
	}
	from = z.table().order.lead(func(it *item) bool { return r.below(it.member.Bytes()) })
	to = z.table().order.lead(func(it *item) bool { return r.upTo(it.member.Bytes()) })
	return from, max(from, to)
}

func (z *ZSet) smallRank(member []byte) (rank int, score float64, ok bool) {
	lp := z.lp()
	for pos := lp.First(); pos >= 0; rank++ {
		at := lp.Next(pos)
		if lp.EqualAt(pos, member) {
			return rank, scoreOf(lp.Get(at)), true
		}
		pos = lp.Next(at)
	}
	return 0, 0, false
}

func (z *ZSet) smallByScore(r ScoreRange) (from, to int) {
	lp := z.lp()
	for pos := lp.First(); pos >= 0; to++ {
		at := lp.Next(pos)
		score := scoreOf(lp.Get(at))
		if !r.upTo(score) {
			break
		}
		if r.below(score) {
			from++
		}
		pos = lp.Next(at)
	}
	return from, to
}

// smallByLex follows Redis exactly. It returns an empty range if the last member is below r or the first
// member above it. Otherwise it returns the run from the first member that is not below, or, if down is set,
// up to the last member that is not above.
func (z *ZSet) smallByLex(r *LexRange, down bool) (from, to int) {
	n := z.Len()
	if n == 0 {
		return 0, 0
	}
	var text [20]byte
	if last, _ := z.smallAt(n-1, text[:0]); r.below(last) {
		return 0, 0
	}
	if first, _ := z.smallAt(0, text[:0]); !r.upTo(first) {
		return 0, 0
	}
	if down {
		to = n
		z.smallRangeDown(0, n, func(member []byte, _ float64) bool {
			if !r.upTo(member) {
				to--
			}
			return !r.upTo(member)
		})
		from = to
		z.smallRangeDown(0, to, func(member []byte, _ float64) bool {
			if !r.below(member) {
				from--
			}
			return !r.below(member)
		})
		return from, to
	}
	z.smallRange(0, n, func(member []byte, _ float64) bool {
		if r.below(member) {
			from++
		}
		return r.below(member)
	})
	to = from
	z.smallRange(from, n, func(member []byte, _ float64) bool {
		if r.upTo(member) {
			to++
		}
		return r.upTo(member)
	})
	return from, to
}
