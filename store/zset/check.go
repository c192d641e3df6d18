package zset

import (
	"bytes"
	"fmt"
	"math"

	"lockserver/store/listpack"
)

// checkNow runs check under the build tag invariants: on every change of a small
// sorted set, and at some lengths of a large one.
func (z *ZSet) checkNow() {
	if n := z.Len(); !invariants || n > 300 && n&(n-1) != 0 {
		return
	}
	if err := z.check(); err != nil {
		panic(err)
	}
}

// check walks through everything and returns the first invariant that does not hold.
func (z *ZSet) check() error {
	if z.table() == nil {
		return z.checkSmall()
	}
	t := z.table()
	if t.scores.Len() != t.order.n {
		return fmt.Errorf("zset: %d scores of %d members", t.scores.Len(), t.order.n)
	}
	if t.order.root == nil {
		if t.order.n != 0 {
			return fmt.Errorf("zset: no tree for %d members", t.order.n)
		}
		return nil
	}
	if n, _, err := t.order.root.check(nil, nil); err != nil || n != t.order.n {
		return fmt.Errorf("zset: %d members found of %d: %w", n, t.order.n, err)
	}
	var err error
	t.order.ascend(0, t.order.n, func(it *item) bool {
		slot := t.find(it.member.Bytes())
		if slot < 0 {
			err = fmt.Errorf("zset: member %q has no score", it.member)
			return false
		}
		score := t.scores.Value(slot)
		switch {
		case *score != it.score:
			err = fmt.Errorf("zset: member %q of score %v stands at %v", it.member, *score, it.score)
		case t.scores.Key(slot) != it.member:
			err = fmt.Errorf("zset: the bytes of member %q are there twice", it.member)
		}
		return err == nil
	})
	return err
}

// checkSmall checks that the listpack is valid and ordered.
func (z *ZSet) checkSmall() error {
	if err := listpack.Validate(z.lp()); err != nil {
		return err
	}
	if z.lp().Len()%2 != 0 {
		return fmt.Errorf("zset: %d elements are no pairs", z.lp().Len())
	}
	var last []byte
	least := math.Inf(-1)
	var err error
	n := 0
	z.smallRange(0, z.Len(), func(member []byte, score float64) bool {
		if n > 0 && (least > score || least == score && bytes.Compare(last, member) >= 0) {
			err = fmt.Errorf("zset: %q with %v stands before %q with %v", last, least, member, score)
		}
		last, least = bytes.Clone(member), score
		n++
		return err == nil
	})
	return err
}

// check checks the order, the counts and the depth below a node. All items must be at least low and below
// high, if low and high are not nil.
func (n *node) check(low, high *item) (count, depth int, err error) {
	if n.children == nil {
		for i := range n.items {
			it := &n.items[i]
			switch {
			case low != nil && it.less(low) || high != nil && !it.less(high):
				return 0, 0, fmt.Errorf("zset: %v is out of its node's bounds", it)
			case i > 0 && !n.items[i-1].less(it):
				return 0, 0, fmt.Errorf("zset: %v is out of order", it)
			}
		}
		if len(n.items) == 0 || len(n.items) > maxItems {
			return 0, 0, fmt.Errorf("zset: a leaf of %d items", len(n.items))
		}
		return len(n.items), 1, nil
	}
	if len(n.children) == 0 || len(n.children) > maxKids {
		return 0, 0, fmt.Errorf("zset: a node of %d children", len(n.children))
	}
	for i := range n.children {
		k := &n.children[i]
		childLow, childHigh := low, high
		if i > 0 {
			childLow = &k.least
		}
		if i+1 < len(n.children) {
			childHigh = &n.children[i+1].least
		}
		got, deep, err := k.node.check(childLow, childHigh)
		switch {
		case err != nil:
			return 0, 0, err
		case got != k.n:
			return 0, 0, fmt.Errorf("zset: %d items are counted as %d", got, k.n)
		case i > 0 && deep != depth:
			return 0, 0, fmt.Errorf("zset: leaves of different depth")
		}
		count, depth = count+got, deep
	}
	return count, depth + 1, nil
}
