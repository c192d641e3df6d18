package commands

import (
	"math"

	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
	"lockserver/store"
)

// scoreCall holds the options of ZADD.
type scoreCall struct {
	nx, xx, gt, lt bool
	changes        bool // the reply counts changed members, too
	increment      bool // the score is added to the old one
}

func zadd(c *Ctx) error    { return addScores(c, scoreCall{}) }
func zincrby(c *Ctx) error { return addScores(c, scoreCall{increment: true}) }

// addScores runs ZADD, and ZINCRBY, which Redis reads as a ZADD with INCR and its options.
func addScores(c *Ctx, x scoreCall) error {
	a := c.Args()
	key := a.Key()
	x.readOptions(a)
	pairs := a.Rest()
	x.check(a, len(pairs))
	var space [16]float64
	scores := space[:0]
	for i := 0; i < len(pairs) && a.Err() == nil; i += 2 {
		score, ok := resp.ParseFloat(pairs[i])
		if !ok {
			a.Fail(ErrNotFloat)
		}
		scores = append(scores, score)
	}
	if err := a.Err(); err != nil {
		return err
	}
	return x.apply(c, key, scores, pairs, 2)
}

// apply sets the scores of the members by the options, and replies. words consists of groups of the given
// size; the last word of each group is the member.
func (x *scoreCall) apply(c *Ctx, key []byte, scores []float64, words [][]byte, group int) error {
	e, ok := c.DB.OpenZSet(key)
	if !ok {
		return ErrWrongType
	}
	if x.increment {
		return x.incrementOne(c, key, &e, words[1], scores[0])
	}
	e.Expect(len(scores), len(words[group-1]))
	var added, changed int64
	for i, score := range scores {
		member := words[group*(i+1)-1]
		if x.conditional() && !x.allows(&e, member, score) {
			continue
		}
		isNew, isOther := e.Set(member, score)
		if isNew {
			added++
		} else if isOther {
			changed++
		}
	}
	if added+changed > 0 {
		c.Notify(keyevent.ZSet, "zadd", key)
	}
	if x.changes {
		added += changed
	}
	c.Out.Int(added)
	return nil
}

func (x *scoreCall) readOptions(a *Scanner) {
	for a.More() {
		switch {
		case a.IsNext("NX"):
			x.nx = true
		case a.IsNext("XX"):
			x.xx = true
		case a.IsNext("CH"):
			x.changes = true
		case a.IsNext("INCR"):
			x.increment = true
		case a.IsNext("GT"):
			x.gt = true
		case a.IsNext("LT"):
			x.lt = true
		default:
			return
		}
	}
}

// check validates the combination of the options; words is the number of words after them.
func (x *scoreCall) check(a *Scanner, words int) {
	switch {
	case words == 0 || words%2 != 0:
		a.Syntax()
	case x.nx && x.xx:
		a.Fail(ErrZAddNXAndXX)
	case x.gt && x.nx || x.lt && x.nx || x.gt && x.lt:
		a.Fail(ErrZAddGTLTAndNX)
	case x.increment && words > 2:
		a.Fail(ErrZAddIncrPairs)
	}
}

// conditional reports whether the call has a condition on the old score.
func (x *scoreCall) conditional() bool { return x.nx || x.xx || x.gt || x.lt }

// allows reports whether the options allow a member to have this score.
func (x *scoreCall) allows(e *store.ZSetEdit, member []byte, score float64) bool {
	old, ok := currentScore(e, member)
	if !ok {
		return !x.xx
	}
	return !x.nx && !(x.gt && score <= old) && !(x.lt && score >= old)
}

func currentScore(e *store.ZSetEdit, member []byte) (score float64, ok bool) {
	if e.ZSet() == nil {
		return 0, false
	}
	return e.ZSet().Score(member)
}

// incrementOne adds by to a member's score and replies the sum, or null if the options do not allow it.
func (x *scoreCall) incrementOne(c *Ctx, key []byte, e *store.ZSetEdit, member []byte, by float64) error {
	old, ok := currentScore(e, member)
	if ok && x.nx || !ok && x.xx {
		c.Out.Null()
		return nil
	}
	score := by
	if ok {
		if score += old; math.IsNaN(score) {
			return ErrScoreNaN
		}
		if x.lt && score >= old || x.gt && score <= old {
			c.Out.Null()
			return nil
		}
	}
	if added, changed := e.Set(member, score); added || changed {
		c.Notify(keyevent.ZSet, "zincr", key)
	}
	c.Out.Double(score)
	return nil
}

func zrem(c *Ctx) error {
	key, members := c.Argv[1], c.Argv[2:]
	e, ok := c.DB.OpenZSet(key)
	if !ok {
		return ErrWrongType
	}
	removed := removeAll(members, e.Remove)
	c.replyRemoved(key, keyevent.ZSet, "zrem", removed, e.ZSet() == nil)
	return nil
}
