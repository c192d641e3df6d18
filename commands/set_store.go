package commands

import (
	"slices"

	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/set"
)

// The operations on sets that store their result. As in Redis, the encoding of a result depends on the order
// in which it is built. So these operations use Redis' order; the operations that only reply need not.

func sinterstore(c *Ctx) error { return storeSet(c, intersectInto) }
func sunionstore(c *Ctx) error { return storeSet(c, uniteInto) }
func sdiffstore(c *Ctx) error  { return storeSet(c, subtractInto) }

// storeSet builds the result in a new set and then stores it at the destination, so that the destination may
// be an operand.
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
	into := st.NewSet(nil)
	r := result{into: &into, rules: st.Limits().Set}
	op(st, operands, &r)
	n := r.into.Len()
	existed := n == 0 && c.DB.Peek(destination).OK()
	c.DB.ReplaceSet(destination, into.Set)
	c.notifyStored(keyevent.Set, c.Row.Name, destination, n == 0, existed)
	c.Out.Int(int64(n))
	return nil
}

// intersectInto begins with a listpack unless the smallest set is an intset. A result of integers alone
// becomes an intset.
func intersectInto(st *store.Store, operands []*set.Set, r *result) {
	slices.SortStableFunc(operands, smallerFirst)
	if first := operands[0]; first == nil {
		return
	} else if _, ok := first.Intset(); !ok {
		r.into.Pack()
	}
	intersection(st, operands, r)
	r.into.ToInts(r.rules)
}

// uniteInto adds the sets in order.
func uniteInto(st *store.Store, operands []*set.Set, r *result) {
	w := st.Walk()
	for _, s := range operands {
		known := r.into.Len() > 0
		for members := w.Begin(s); len(members) > 0; members = w.Next() {
			if known {
				members = r.into.Select(members, false)
			}
			r.take(members)
		}
	}
}

// subtractInto leaves out the members of the other sets. If it is less work, it adds all members and removes
// these again.
func subtractInto(st *store.Store, operands []*set.Set, r *result) {
	first := operands[0]
	if first == nil || slices.Contains(operands[1:], first) {
		return
	}
	operands = present(operands)
	total := 0
	for _, s := range operands {
		total += s.Len()
	}
	if first.Len()*len(operands)/2 <= total {
		others := operands[1:]
		slices.SortFunc(others, largerFirst)
		takeOthers(st, first, others, r)
		return
	}
	uniteInto(st, operands[:1], r)
	w := st.Walk()
	for _, s := range operands[1:] {
		for members := w.Begin(s); len(members) > 0 && r.into.Len() > 0; members = w.Next() {
			for _, member := range members {
				r.into.Remove(member)
			}
		}
		w.End()
	}
}
