package commands

import (
	"cmp"
	"math"
	"slices"

	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/store/set"
)

// maxProbedSets is the largest number of sets for which SUNION looks each member up in the earlier sets. With
// more sets it collects the members it has seen.
const maxProbedSets = 4

// operation passes each member of its result to r once, until r has enough. The operands are in the order of
// the call, nil for a missing key. The operation may reorder the slice.
type operation func(st *store.Store, operands []*set.Set, r *result)

// result receives the members that an operation finds. It writes them to a reply, adds them to a set
// (set_store.go), or only counts them.
type result struct {
	out   *resp.Writer // nil means no reply
	into  *set.Edit    // nil means no set
	rules set.Limits   // the limits of into
	limit int          // the operation ends at this number of members; 0 means no limit
	n     int          // number of members so far
}

// take adds members that are not in the result yet, and reports whether it can take more.
func (r *result) take(members [][]byte) (more bool) {
	if r.limit > 0 {
		members = members[:min(len(members), r.limit-r.n)]
	}
	r.n += len(members)
	for _, member := range members {
		if r.out != nil {
			r.out.Bulk(member)
		}
		if r.into != nil {
			r.into.Append(r.rules, member)
		}
	}
	return r.limit == 0 || r.n < r.limit
}

func sinter(c *Ctx) error { return replySet(c, intersection) }
func sunion(c *Ctx) error { return replySet(c, union) }
func sdiff(c *Ctx) error  { return replySet(c, difference) }

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
	header := c.Out.DeferSet()
	r := result{out: c.Out}
	op(c.DB.Store(), operands, &r)
	c.Out.SetSet(header, r.n)
	return nil
}

func sintercard(c *Ctx) error {
	a := c.Args()
	keys := a.CountedKeys(0, ErrTooManyKeys)
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
	r := result{limit: int(min(limit, math.MaxInt))}
	intersection(c.DB.Store(), operands, &r)
	c.Out.Int(int64(r.n))
	return nil
}

// findSets looks up all keys, so that a key of a wrong type is an error whatever the other sets have.
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

// intersection walks the smallest set and looks its members up in the other sets. It asks the smaller sets
// first, because they most probably lack the member.
func intersection(st *store.Store, operands []*set.Set, r *result) {
	slices.SortStableFunc(operands, smallerFirst)
	w := st.Walk()
	for members := w.Begin(operands[0]); len(members) > 0; members = w.Next() {
		for _, s := range operands[1:] {
			members = s.Select(members, true)
		}
		if !r.take(members) {
			w.End()
			return
		}
	}
}

// union walks all sets. It begins with the largest, because the members of the first set need no look-up.
func union(st *store.Store, operands []*set.Set, r *result) {
	operands = present(operands)
	slices.SortFunc(operands, largerFirst)
	if len(operands) > maxProbedSets {
		unionOfMany(st, operands, r)
		return
	}
	for i, s := range operands {
		if !takeOthers(st, s, operands[:i], r) {
			return
		}
	}
}

// takeOthers passes the members of s that no other set has to r, and returns the result of take.
func takeOthers(st *store.Store, s *set.Set, others []*set.Set, r *result) (more bool) {
	w := st.Walk()
	for members := w.Begin(s); len(members) > 0; members = w.Next() {
		for _, other := range others {
			members = other.Select(members, false)
		}
		if !r.take(members) {
			w.End()
			return false
		}
	}
	return true
}

// unionOfMany collects the members it has seen, so that the time does not grow with the square of the number
// of sets.
func unionOfMany(st *store.Store, operands []*set.Set, r *result) {
	seen := st.NewSet(nil)
	w := st.Walk()
	for _, s := range operands {
		for members := w.Begin(s); len(members) > 0; members = w.Next() {
			fresh := members[:0]
			for _, member := range members {
				if seen.Add(st.Limits().Set, member) {
					fresh = append(fresh, member)
				}
			}
			if !r.take(fresh) {
				w.End()
				return
			}
		}
	}
}

// difference walks the first set and leaves out members of the others. It looks each member up in all other
// sets. If these are many and small, it first collects the members that they share with the first. That takes
// time in proportion to the sum of all sizes.
func difference(st *store.Store, operands []*set.Set, r *result) {
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
		others = []*set.Set{common(st, first, others)}
	}
	slices.SortFunc(others, largerFirst)
	takeOthers(st, first, others, r)
}

// common returns the members of a set that are in any of the other sets.
func common(st *store.Store, first *set.Set, others []*set.Set) *set.Set {
	result := st.NewSet(nil)
	w := st.Walk()
	for _, s := range others {
		for members := w.Begin(s); len(members) > 0; members = w.Next() {
			for _, member := range first.Select(members, true) {
				result.Add(st.Limits().Set, member)
			}
		}
	}
	return result.Set
}

// present removes the missing sets.
func present(sets []*set.Set) []*set.Set {
	return slices.DeleteFunc(sets, func(s *set.Set) bool { return s == nil })
}

func smallerFirst(x, y *set.Set) int { return cmp.Compare(cardinality(x), cardinality(y)) }

func largerFirst(x, y *set.Set) int { return cmp.Compare(y.Len(), x.Len()) }
