package stream

// TrimBy is the criterion for trimming.
type TrimBy uint8

const (
	// ByMaxLen removes the first entries until MaxLen are left.
	ByMaxLen TrimBy = iota
	// ByMinID removes the entries with an ID below MinID.
	ByMinID
)

// DefaultLimit as Strategy.Limit is the limit that Redis uses for ~ without LIMIT: as many entries as a
// hundred full nodes have.
const DefaultLimit = -1

// Strategy says which entries Trim removes.
type Strategy struct {
	By     TrimBy
	MaxLen int
	MinID  ID
	// Approx removes only whole nodes, so some more entries stay.
	Approx bool
	// Limit limits the entries that an approximate trim removes; 0 means no limit. It has no effect on exact
	// trimming.
	Limit int
	// Refs says what happens to entries that groups refer to. Only Trimmable uses it, not Trim.
	Refs Refs
}

// limit returns the largest number of entries that t may remove; 0 means no limit.
func (t *Strategy) limit(lim Limits) int {
	if !t.Approx {
		return 0
	}
	if t.Limit >= 0 {
		return t.Limit
	}
	n := 100 * lim.NodeMaxEntries
	if n <= 0 {
		n = 10_000
	}
	return min(n, 1_000_000)
}

// Trim removes entries from the front and returns their number. The master ID of the first node after an
// approximate trim describes the trim exactly. An exact trim with that ID as MinID removes the same nodes,
// and no entry of the first node. Trimming does not count as deletion, so MaxDeletedID does not change.
func (s *Stream) Trim(lim Limits, t Strategy) (removed int) {
	limit := t.limit(lim)
	for {
		if t.By == ByMaxLen && s.length <= t.MaxLen {
			break
		}
		first, ok := nodesOf(s).Min()
		if !ok {
			break
		}
		n := first.node
		live := n.live()
		if limit > 0 && removed+live > limit {
			break
		}
		if n.goesWhole(s.length, &t) {
			s.drop(n)
			s.length -= live
			removed += live
			continue
		}
		if !t.Approx {
			removed += s.trimNode(n, &t)
		}
		break
	}
	if removed > 0 {
		s.setFirst()
	}
	return removed
}

// goesWhole reports whether the whole node n must be removed. length is the length of the stream from n on.
// For a trim by ID the last entry decides, even if it is deleted.
func (n *node) goesWhole(length int, t *Strategy) bool {
	if t.By == ByMaxLen {
		return length-n.live() >= t.MaxLen
	}
	e, ok := n.lastEntry()
	return !ok || e.id.Less(t.MinID)
}

// trimNode marks the first entries of n, the first node, as deleted and returns how many of them were live.
func (s *Stream) trimNode(n *node, t *Strategy) int {
	done := 0
	c := n.open()
	for e, ok := c.first(); ok; e, ok = c.next(e) {
		if t.By == ByMaxLen && s.length <= t.MaxLen || t.By == ByMinID && !e.id.Less(t.MinID) {
			break
		}
		if e.deleted() {
			continue
		}
		if done == 0 {
			n = s.own(n, 0)
			c.list = n.list // the copy: c continues there, and sees the marks
		}
		n.mark(e)
		s.length--
		done++
	}
	if done > 0 {
		s.bytes -= n.size()
		n.addCounts(-done, done)
		s.bytes += n.size()
	}
	return done
}
