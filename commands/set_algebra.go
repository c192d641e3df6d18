package commands

import (
	"cmp"
	"slices"

	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/set"
)

// maxProbedSets is up to how many sets SUNION asks each whether a member was there before; beyond, it collects them.
const maxProbedSets = 4

// operation visits the members of a result, each once, until visit returns false. The operands stand in the order of
// the call and nil is a missing one; the slice is the operation's to reorder.
type operation func(st *store.Store, operands []*set.Set, visit func(member []byte) bool)

func sinter(c *Ctx) error      { return replySet(c, intersection) }
func sunion(c *Ctx) error      { return replySet(c, union) }
func sdiff(c *Ctx) error       { return replySet(c, difference) }
func sinterstore(c *Ctx) error { return storeSet(c, intersection) }
func sunionstore(c *Ctx) error { return storeSet(c, union) }
func sdiffstore(c *Ctx) error  { return storeSet(c, difference) }

func replySet(c *Ctx, op operation) error {
	a := c.Args()
	keys := a.Rest()
	if err := a.Err(); err != nil {
		return err
	}
	operands, err := findSets(c, keys)
	if err != nil {
		return err
	}
	n, header := 0, c.Out.DeferSet()
	op(c.DB.Store(), operands, func(member []byte) bool {
		c.Out.Bulk(member)
		n++
		return true
	})
	c.Out.SetSet(header, n)
	return nil
}

// storeSet computes the result beside the data and puts it in the destination's place at once, so that the destination
// may be an operand.
func storeSet(c *Ctx, op operation) error {
	a := c.Args()
	destination, keys := a.Key(), a.Rest()
	if err := a.Err(); err != nil {
		return err
	}
	operands, err := findSets(c, keys)
	if err != nil {
		return err
	}
	st := c.DB.Store()
	result := st.NewSet()
	op(st, operands, func(member []byte) bool {
		result.Add(st.Limits().Set, member)
		return true
	})
	n := result.Len()
	existed := n == 0 && c.DB.Peek(destination).OK()
	c.DB.ReplaceSet(destination, result)
	c.notifyStored(keyevent.Set, c.Row.Name, destination, n == 0, existed)
	c.Out.Int(int64(n))
	return nil
}

func sintercard(c *Ctx) error {
	a := c.Args()
	numKeys := a.IntOr(ErrNumKeysZero)
	switch {
	case a.Err() == nil && numKeys < 1:
		a.Fail(ErrNumKeysZero)
	case numKeys > int64(a.Left()):
		a.Fail(ErrTooManyKeys)
	}
	keys := a.Take(int(numKeys))
	var limit int64
	for a.More() {
		if a.Option() != "LIMIT" {
			a.Syntax()
		}
		if limit = a.IntOr(ErrLimitSign); limit < 0 {
			a.Fail(ErrLimitSign)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	operands, err := findSets(c, keys)
	if err != nil {
		return err
	}
	var n int64
	intersection(c.DB.Store(), operands, func([]byte) bool {
		n++
		return n != limit
	})
	c.Out.Int(n)
	return nil
}

// findSets looks up all keys, so that one of a wrong type is an error whatever the others hold.
func findSets(c *Ctx, keys [][]byte) ([]*set.Set, error) {
	sets := make([]*set.Set, len(keys))
	for i, key := range keys {
		s, err := c.findSet(key)
		if err != nil {
			return nil, err
		}
		sets[i] = s
	}
	return sets, nil
}

// intersection walks the smallest set and looks each member up in the others, smaller ones first: those are the most
// likely to rule it out.
func intersection(_ *store.Store, operands []*set.Set, visit func(member []byte) bool) {
	slices.SortFunc(operands, func(x, y *set.Set) int { return cmp.Compare(cardinality(x), cardinality(y)) })
	if operands[0] == nil {
		return
	}
	others := operands[1:]
	operands[0].Each(func(member []byte) bool {
		for _, s := range others {
			if !s.Has(member) {
				return true
			}
		}
		return visit(member)
	})
}

// union walks all sets, larger ones first, because the first one's members need no look-up.
func union(st *store.Store, operands []*set.Set, visit func(member []byte) bool) {
	operands = present(operands)
	slices.SortFunc(operands, largerFirst)
	if len(operands) > maxProbedSets {
		unionOfMany(st, operands, visit)
		return
	}
	for i, s := range operands {
		earlier, more := operands[:i], true
		s.Each(func(member []byte) bool {
			if !inAny(earlier, member) {
				more = visit(member)
			}
			return more
		})
		if !more {
			return
		}
	}
}

// unionOfMany collects what was seen, so that the time does not grow with the square of the number of sets.
func unionOfMany(st *store.Store, operands []*set.Set, visit func(member []byte) bool) {
	seen := st.NewSet()
	for _, s := range operands {
		more := true
		s.Each(func(member []byte) bool {
			if seen.Add(st.Limits().Set, member) {
				more = visit(member)
			}
			return more
		})
		if !more {
			return
		}
	}
}

// difference walks the first set and leaves out what any other one has. It either looks each member up in all others,
// or, where they are many and small, first collects what they have in common with the first: then it takes time in
// proportion to the sum of all sizes.
func difference(st *store.Store, operands []*set.Set, visit func(member []byte) bool) {
	first := operands[0]
	if first == nil {
		return
	}
	others := present(operands[1:])
	total := 0
	for _, s := range others {
		total += s.Len()
	}
	if first.Len()*(len(others)-1) > total {
		excluded := st.NewSet()
		for _, s := range others {
			s.Each(func(member []byte) bool {
				if first.Has(member) {
					excluded.Add(st.Limits().Set, member)
				}
				return true
			})
		}
		others = []*set.Set{excluded}
	}
	slices.SortFunc(others, largerFirst)
	first.Each(func(member []byte) bool { return inAny(others, member) || visit(member) })
}

// present drops the missing sets.
func present(sets []*set.Set) []*set.Set {
	return slices.DeleteFunc(sets, func(s *set.Set) bool { return s == nil })
}

func largerFirst(x, y *set.Set) int { return cmp.Compare(y.Len(), x.Len()) }

func inAny(sets []*set.Set, member []byte) bool {
	for _, s := range sets {
		if s.Has(member) {
			return true
		}
	}
	return false
}
