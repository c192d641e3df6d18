package stream

// Refs says how to remove an entry that consumer groups still refer to (Redis 8.2).
type Refs uint8

const (
	// KeepRefs removes the entry and keeps its pending entries.
	KeepRefs Refs = iota
	// DropRefs removes the entry and its pending entries in every group.
	DropRefs
	// AckedOnly removes only entries that no group needs any more.
	AckedOnly
)

// Referenced reports whether a group still needs an entry with this ID: the entry is pending there, or the
// group has not read so far. The entry need not exist.
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
// order. It walks through the nodes as Redis does: all entries of a node that is removed as a whole, then the
// first entries of the next node. Approximate trims count whole nodes against their limit, but remove single
// entries.
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
