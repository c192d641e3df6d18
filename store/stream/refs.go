package stream

// Refs says what becomes of an entry that consumer groups still refer to when it
// is to be removed (Redis 8.2).
type Refs uint8

const (
	// KeepRefs removes the entry and leaves what is pending of it.
	KeepRefs Refs = iota
	// DropRefs removes the entry and what is pending of it in every group.
	DropRefs
	// AckedOnly removes only what no group needs any more.
	AckedOnly
)

// Referenced reports whether some group still needs an entry of this ID: it is pending there, or the group
// has not come so far. There need not be such an entry.
func (s *Stream) Referenced(id ID) bool {
	for _, g := range s.groups {
		if g.last.Less(id) {
			return true
		}
		if _, pending := g.Pending(id); pending {
			return true
		}
	}
	return false
}

// Trimmable returns the IDs of the entries that a trim with respect to the groups removes, in ascending
// order. It walks the nodes as Redis does: all entries of a node that is removed as a whole, then the first
// ones of the next node. Approximate trims count whole nodes against their limit, but remove single entries.
func (s *Stream) Trimmable(lim Limits, t Strategy) (ids []ID) {
	limit := t.limit(lim)
	nodesOf(s).Scan(func(sl slot) bool {
		n := sl.node
		live, length := n.live(), s.length-len(ids)
		if t.By == ByMaxLen && length <= t.MaxLen || limit > 0 && len(ids)+live > limit {
			return false
		}
		whole := n.goesWhole(length, &t)
		c := n.open()
		for e, ok := c.first(); ok; e, ok = c.next(e) {
			if t.By == ByMaxLen && s.length-len(ids) <= t.MaxLen || t.By == ByMinID && !e.id.Less(t.MinID) {
				break
			}
			if !e.deleted() && (t.Refs != AckedOnly || !s.Referenced(e.id)) {
				ids = append(ids, e.id)
			}
		}
		return whole
	})
	return ids
}
