package commands

import (
	"lockserver/internal/decimal"
	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
	"lockserver/store/zset"
)

// orderBy says what the ends of a range mean.
type orderBy uint8

const (
	byAny orderBy = iota // not yet known
	byRank
	byScore
	byLex
)

// rangeCall holds the arguments of a command on a range of a sorted set. All of them become a range of ranks.
type rangeCall struct {
	by          orderBy
	down        bool
	least, most []byte // the ends as the client sent them
	offset      int64
	count       int64 // negative means all
	withScores  bool

	start, stop int64 // the ends as ranks
	scores      zset.ScoreRange
	members     zset.LexRange
}

func zrange(c *Ctx) error           { return replyRange(c, rangeCall{}, true) }
func zrevrange(c *Ctx) error        { return replyRange(c, rangeCall{by: byRank, down: true}, false) }
func zrangebyscore(c *Ctx) error    { return replyRange(c, rangeCall{by: byScore}, false) }
func zrevrangebyscore(c *Ctx) error { return replyRange(c, rangeCall{by: byScore, down: true}, false) }
func zrangebylex(c *Ctx) error      { return replyRange(c, rangeCall{by: byLex}, false) }
func zrevrangebylex(c *Ctx) error   { return replyRange(c, rangeCall{by: byLex, down: true}, false) }

// replyRange runs the commands that list a range. free says that the call may have REV, BYSCORE and BYLEX.
func replyRange(c *Ctx, x rangeCall, free bool) error {
	a := c.Args()
	key := a.Key()
	if err := x.read(a, free, true); err != nil {
		return err
	}
	z, err := c.findZSet(key)
	if err != nil {
		return err
	}
	from, to := x.part(z)
	beginScored(c.Out, to-from, x.withScores)
	x.each(z, from, to, func(member []byte, score float64) bool {
		writeScored(c.Out, member, score, x.withScores)
		return true
	})
	return nil
}

func zrangestore(c *Ctx) error {
	a := c.Args()
	destination, source := a.Key(), a.Key()
	var x rangeCall
	if err := x.read(a, true, false); err != nil {
		return err
	}
	z, err := c.findZSet(source)
	if err != nil {
		return err
	}
	st := c.DB.Store()
	from, to := x.part(z)
	result := st.NewZSet(nil)
	if x.by == byRank && to-from > st.Limits().ZSet.Entries {
		result = st.NewZSetTable(nil) // keeps the sign of -0, as Redis does if it knows the size in advance
	}
	x.each(z, from, to, func(member []byte, score float64) bool {
		result.Set(st.Limits().ZSet, member, score)
		return true
	})
	existed := to == from && c.DB.Peek(destination).OK()
	c.DB.ReplaceZSet(destination, result.ZSet)
	c.notifyStored(keyevent.ZSet, "zrangestore", destination, to == from, existed)
	c.Out.Int(int64(to - from))
	return nil
}

// read reads the ends and the options after them. Every command that lists knows WITHSCORES, and refuses it
// where it makes no sense, as in Redis.
func (x *rangeCall) read(a *Scanner, free, lists bool) error {
	x.least, x.most, x.count = a.Bytes(), a.Bytes(), -1
	downFixed := !free
	for a.More() {
		switch {
		case lists && a.IsNext("WITHSCORES"):
			x.withScores = true
		case a.Left() > 2 && a.IsNext("LIMIT"):
			x.offset, x.count = a.Int(), a.Int()
		case !downFixed && a.IsNext("REV"):
			x.down, downFixed = true, true
		case x.by == byAny && a.IsNext("BYLEX"):
			x.by = byLex
		case x.by == byAny && a.IsNext("BYSCORE"):
			x.by = byScore
		default:
			a.Syntax()
		}
	}
	if x.by == byAny {
		x.by = byRank
	}
	if x.by == byRank {
		x.offset = 0 // without a count, which is an error, the offset has no effect
	}
	switch {
	case x.count != -1 && x.by == byRank:
		a.Fail(ErrRangeLimit)
	case x.withScores && x.by == byLex:
		a.Fail(ErrRangeLexScores)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if x.down && x.by != byRank {
		x.least, x.most = x.most, x.least
	}
	return x.readEnds()
}

// readEnds parses the ends.
func (x *rangeCall) readEnds() (err error) {
	switch x.by {
	case byScore:
		x.scores, err = scoreRange(x.least, x.most)
	case byLex:
		x.members, err = lexRange(x.least, x.most)
	default:
		var ok, ok2 bool
		x.start, ok = decimal.ParseInt(x.least)
		x.stop, ok2 = decimal.ParseInt(x.most)
		if !ok || !ok2 {
			return ErrNotInteger
		}
	}
	return err
}

// ranks returns the range as ranks from..to-1 in ascending order; z may be nil.
func (x *rangeCall) ranks(z *zset.ZSet) (from, to int) {
	switch {
	case z == nil:
		return 0, 0
	case x.by == byScore:
		return z.ByScore(x.scores)
	case x.by == byLex:
		return z.ByLex(x.members, x.down)
	}
	n := z.Len()
	from, to = rankRange(x.start, x.stop, n)
	if x.down {
		from, to = n-to, n-from
	}
	return from, to
}

// part returns the ranks that LIMIT selects; its offset counts from the start of the walk.
func (x *rangeCall) part(z *zset.ZSet) (from, to int) {
	from, to = x.ranks(z)
	if x.offset < 0 || x.offset >= int64(to-from) {
		return 0, 0
	}
	n := to - from - int(x.offset)
	if x.count >= 0 && x.count < int64(n) {
		n = int(x.count)
	}
	if x.down {
		to -= int(x.offset)
		return to - n, to
	}
	from += int(x.offset)
	return from, from + n
}

// each visits the members of the ranks from..to-1 in the order of the call; z may be nil if there are none.
func (x *rangeCall) each(z *zset.ZSet, from, to int, visit func(member []byte, score float64) bool) {
	switch {
	case from >= to:
	case x.down:
		z.RangeDown(from, to, visit)
	default:
		z.Range(from, to, visit)
	}
}

// beginScored begins a list of n members. With scores it has twice as many elements in RESP2, and pairs in
// RESP3.
func beginScored(out *resp.Writer, n int, withScores bool) {
	out.Array(n * pairWords(out, withScores))
}

// writeScored writes a member of a list from beginScored.
func writeScored(out *resp.Writer, member []byte, score float64, withScores bool) {
	if withScores && out.Proto >= 3 {
		out.Array(2)
	}
	out.Bulk(member)
	if withScores {
		out.Double(score)
	}
}

func zremrangebyrank(c *Ctx) error  { return removeRange(c, byRank) }
func zremrangebyscore(c *Ctx) error { return removeRange(c, byScore) }
func zremrangebylex(c *Ctx) error   { return removeRange(c, byLex) }

func removeRange(c *Ctx, by orderBy) error {
	a := c.Args()
	key := a.Key()
	x := rangeCall{by: by, least: a.Bytes(), most: a.Bytes()}
	if err := a.Err(); err != nil {
		return err
	}
	if err := x.readEnds(); err != nil {
		return err
	}
	e, ok := c.DB.OpenZSet(key)
	if !ok {
		return ErrWrongType
	}
	n := e.RemoveRange(x.ranks(e.ZSet()))
	if n > 0 {
		c.NotifyTaken(keyevent.ZSet, c.Row.Name, key, e.ZSet() == nil)
	}
	c.Out.Int(int64(n))
	return nil
}
