package renewals

import "slices"

// numberIn returns by which number a table knows the keeper; false: it has none there.
func (k *Keeper) numberIn(t *Table) (number uint32, ok bool) {
	if k == nil {
		return 0, len(t.chains) > 0
	}
	for _, p := range k.in {
		if p.table == t {
			return p.number, true
		}
	}
	return 0, false
}

// leave makes the keeper forget a table.
func (k *Keeper) leave(t *Table) {
	k.in = slices.DeleteFunc(k.in, func(p part) bool { return p.table == t })
}

// numberOf is numberIn, and makes the keeper known if it is not.
func (t *Table) numberOf(k *Keeper) (number uint32) {
	if len(t.chains) == 0 {
		t.chains = append(t.chains, chain{}) // of those without a keeper
	}
	number, ok := k.numberIn(t)
	if ok {
		return number
	}
	if n := len(t.free); n > 0 {
		number, t.free = t.free[n-1], t.free[:n-1]
	} else {
		number = uint32(len(t.chains))
		t.chains = append(t.chains, chain{})
	}
	t.chains[number].of = k
	k.in = append(k.in, part{t, number})
	return number
}

// link makes the entry of a slot the first of a chain.
func (t *Table) link(slot int, e *entry, number uint32) {
	c := &t.chains[number]
	e.keeper, e.prev, e.next = number+1, 0, c.first
	t.join(e, uint32(slot)+1, uint32(slot)+1)
	c.count++
	if c.of != nil {
		c.of.count++
	}
}

// unlink takes an entry out of its chain, if it is in one.
func (t *Table) unlink(e *entry) {
	if e.keeper == 0 {
		return
	}
	t.join(e, e.next, e.prev)
	number := e.keeper - 1
	c := &t.chains[number]
	c.count--
	if c.of == nil {
		return
	}
	if c.of.count--; c.count == 0 {
		c.of.leave(t)
		*c = chain{}
		t.free = append(t.free, number)
	}
}

// join makes the neighbours of an entry point to others: the one before it to next, the one behind it to
// prev.
func (t *Table) join(e *entry, next, prev uint32) {
	if e.prev != 0 {
		t.entries.At(int(e.prev) - 1).next = next
	} else {
		t.chains[e.keeper-1].first = next
	}
	if e.next != 0 {
		t.entries.At(int(e.next) - 1).prev = prev
	}
}
