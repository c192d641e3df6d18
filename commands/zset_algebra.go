package commands

import (
	"cmp"
	"math"
	"slices"

	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/set"
	"lockserver/store/zset"
)

// operand is an input of ZUNION and its relatives: a sorted set or a set. All members of a set have the score
// 1. Both fields are nil for a missing key.
type operand struct {
	z      *zset.ZSet
	s      *set.Set
	weight float64
	// counted means that each member has the score 1, as for AGGREGATE COUNT.
	counted bool
}

func (o *operand) len() int { return scored(o.z) + cardinality(o.s) }

// score returns a member's score, without the weight.
func (o *operand) score(member []byte) (score float64, ok bool) {
	switch {
	case o.z != nil:
		if score, ok = o.z.Score(member); ok && o.counted {
			score = 1
		}
		return score, ok
	case o.s != nil:
		return 1, o.s.Has(member)
	}
	return 0, false
}

func (o *operand) each(visit func(member []byte, score float64) bool) {
	switch {
	case o.z != nil && o.counted:
		o.z.Range(0, o.z.Len(), func(member []byte, _ float64) bool { return visit(member, 1) })
	case o.z != nil:
		o.z.Range(0, o.z.Len(), visit)
	case o.s != nil:
		o.s.Each(func(member []byte) bool { return visit(member, 1) })
	}
}

// scoredOperation visits each member of a result once, until visit returns false.
type scoredOperation func(x *combineCall, visit func(member []byte, score float64) bool)

// combineCall holds the arguments of ZUNION, ZINTER, ZDIFF, their STORE forms and ZINTERCARD.
type combineCall struct {
	operands   []operand
	aggregate  string // SUM, MIN, MAX or COUNT
	withScores bool
	limit      int64 // for ZINTERCARD; 0 means no limit
}

func zunion(c *Ctx) error      { return replyCombined(c, unionScored, true) }
func zinter(c *Ctx) error      { return replyCombined(c, intersectScored, true) }
func zdiff(c *Ctx) error       { return replyCombined(c, differScored, false) }
func zunionstore(c *Ctx) error { return storeCombined(c, unionScored, true) }
func zinterstore(c *Ctx) error { return storeCombined(c, intersectScored, true) }
func zdiffstore(c *Ctx) error  { return storeCombined(c, differScored, false) }

// replyCombined replies a result in its order. weighs says that WEIGHTS and AGGREGATE are allowed.
func replyCombined(c *Ctx, op scoredOperation, weighs bool) error {
	a := c.Args()
	x, err := readCombine(c, a)
	if err != nil {
		return err
	}
	for a.More() {
		switch {
		case weighs && x.readWeighing(a):
		case a.IsNext("WITHSCORES"):
			x.withScores = true
		default:
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	result := x.compute(c.DB.Store(), op)
	beginScored(c.Out, result.Len(), x.withScores)
	result.Range(0, result.Len(), func(member []byte, score float64) bool {
		writeScored(c.Out, member, score, x.withScores)
		return true
	})
	return nil
}

// storeCombined builds the result in a new sorted set and then stores it at the destination, so that the
// destination may be an operand.
func storeCombined(c *Ctx, op scoredOperation, weighs bool) error {
	a := c.Args()
	destination := a.Key()
	x, err := readCombine(c, a)
	if err != nil {
		return err
	}
	for a.More() {
		if !weighs || !x.readWeighing(a) {
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	result := x.compute(c.DB.Store(), op)
	n := result.Len()
	existed := n == 0 && c.DB.Peek(destination).OK()
	c.DB.ReplaceZSet(destination, result)
	c.notifyStored(keyevent.ZSet, c.Row.Name, destination, n == 0, existed)
	c.Out.Int(int64(n))
	return nil
}

func zintercard(c *Ctx) error {
	a := c.Args()
	x, err := readCombine(c, a)
	if err != nil {
		return err
	}
	for a.More() {
		if a.Left() < 2 || !a.IsNext("LIMIT") {
			a.Syntax()
		}
		if x.limit = a.IntOr(ErrLimitSign); x.limit < 0 {
			a.Fail(ErrLimitSign)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	var n int64
	intersectScored(&x, func([]byte, float64) bool {
		n++
		return n != x.limit
	})
	c.Out.Int(n)
	return nil
}

// readCombine reads "numkeys key [key ...]" and looks the keys up. So a key of a wrong type is reported
// before any error in the options.
func readCombine(c *Ctx, a *Scanner) (x combineCall, err error) {
	x.aggregate = "SUM"
	n := a.Int()
	switch {
	case a.Err() != nil:
	case n < 1:
		a.Fail(ErrNoInputKey(c.Row.FullName()))
	case n > int64(a.Left()):
		a.Syntax()
	}
	keys := a.Take(int(n))
	if err := a.Err(); err != nil {
		return x, err
	}
	x.operands = make([]operand, len(keys))
	for i, key := range keys {
		o := &x.operands[i]
		o.weight = 1
		switch r := c.DB.Find(key); r.Kind() {
		case store.None:
		case store.ZSet:
			o.z = r.ZSet()
		case store.Set:
			o.s = r.Set()
		default:
			return x, ErrWrongType
		}
	}
	return x, nil
}

// readWeighing reads WEIGHTS or AGGREGATE with its arguments, and reports whether one of them comes next.
func (x *combineCall) readWeighing(a *Scanner) bool {
	switch {
	case a.Left() > len(x.operands) && a.IsNext("WEIGHTS"):
		for i := range x.operands {
			x.operands[i].weight = a.FloatOr(ErrWeight)
		}
	case a.Left() > 1 && a.IsNext("AGGREGATE"):
		switch {
		case a.IsNext("SUM"):
			x.aggregate = "SUM"
		case a.IsNext("MIN"):
			x.aggregate = "MIN"
		case a.IsNext("MAX"):
			x.aggregate = "MAX"
		case a.IsNext("COUNT"):
			x.aggregate = "COUNT"
		default:
			a.Syntax()
		}
	default:
		return false
	}
	return true
}

// compute collects a result in order, encoded as a table, so that a score of -0, which a weight may give, is
// listed with its sign.
func (x *combineCall) compute(st *store.Store, op scoredOperation) *zset.ZSet {
	for i := range x.operands {
		x.operands[i].counted = x.aggregate == "COUNT"
	}
	result := st.NewZSetTable(nil)
	op(x, func(member []byte, score float64) bool {
		result.Set(st.Limits().ZSet, member, score)
		return true
	})
	return result.ZSet
}

// weigh returns a score multiplied by the weight of its operand. Infinity times 0 is 0 here.
func (o *operand) weigh(score float64) float64 {
	if score *= o.weight; math.IsNaN(score) {
		return 0
	}
	return score
}

// combine aggregates two scores. The sum of the two infinities is 0. COUNT adds them.
func (x *combineCall) combine(sum, score float64) float64 {
	switch x.aggregate {
	case "MIN":
		if score < sum {
			return score
		}
		return sum
	case "MAX":
		if score > sum {
			return score
		}
		return sum
	}
	if sum += score; math.IsNaN(sum) {
		return 0
	}
	return sum
}

// smallestFirst sorts the operands by size. Scores are added up in the same order as in Redis, so that sums
// are equal to the last bit.
func (x *combineCall) smallestFirst() {
	slices.SortStableFunc(x.operands, func(a, b operand) int { return cmp.Compare(a.len(), b.len()) })
}

// intersectScored walks the smallest operand and looks each member up in the other operands.
func intersectScored(x *combineCall, visit func(member []byte, score float64) bool) {
	x.smallestFirst()
	first, others := &x.operands[0], x.operands[1:]
	if first.len() == 0 {
		return
	}
	first.each(func(member []byte, score float64) bool {
		sum := first.weigh(score)
		for i := range others {
			other, ok := others[i].score(member)
			if !ok {
				return true
			}
			// Without weigh: the product may be NaN, which is why Redis ignores it for MIN and MAX.
			sum = x.combine(sum, other*others[i].weight)
		}
		return visit(member, sum)
	})
}

// unionScored adds all operands up and then visits the members of the sum, in no order.
func unionScored(x *combineCall, visit func(member []byte, score float64) bool) {
	x.smallestFirst()
	last := x.operands[len(x.operands)-1]
	sums := make(map[string]float64, last.len())
	for i := range x.operands {
		o := &x.operands[i]
		o.each(func(member []byte, score float64) bool {
			score = o.weigh(score)
			if sum, ok := sums[string(member)]; ok {
				score = x.combine(sum, score)
			}
			sums[string(member)] = score
			return true
		})
	}
	for member, score := range sums {
		if !visit([]byte(member), score) {
			return
		}
	}
}

// differScored walks the first operand and leaves out members of the others. If these are many and small, it
// first collects the members that they share with the first. So the time does not grow with the size of the
// first operand times the number of the others.
func differScored(x *combineCall, visit func(member []byte, score float64) bool) {
	first, others := &x.operands[0], x.operands[1:]
	total := 0
	for i := range others {
		total += others[i].len()
	}
	var excluded map[string]struct{}
	if first.len()*(len(others)-1) > total {
		excluded = make(map[string]struct{})
		for i := range others {
			others[i].each(func(member []byte, _ float64) bool {
				if _, ok := first.score(member); ok {
					excluded[string(member)] = struct{}{}
				}
				return true
			})
		}
	}
	first.each(func(member []byte, score float64) bool {
		if excluded != nil {
			if _, ok := excluded[string(member)]; ok {
				return true
			}
			return visit(member, score)
		}
		for i := range others {
			if _, ok := others[i].score(member); ok {
				return true
			}
		}
		return visit(member, score)
	})
}
