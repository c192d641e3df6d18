package stream

// Range calls fn for every entry with start <= ID <= end, in ascending order or in
// descending order if reverse, until fn returns false. It finds its beginning in
// O(log n), and allocates a few times, not for each entry. fn must not change the stream.
func (s *Stream) Range(start, end ID, reverse bool, fn func(id ID, fv FieldValues) bool) {
	if s.length == 0 || end.Less(start) || end.Less(s.firstID) || s.lastID.Less(start) {
		return
	}
	w := &walk{start: start, end: end, fn: fn}
	if reverse {
		w.reverse(s)
		return
	}
	w.forward(s)
}

// Has reports whether the stream has an entry.
func (s *Stream) Has(id ID) bool {
	if s.length == 0 || id.Less(s.firstID) || s.lastID.Less(id) {
		return false
	}
	n := s.floor(id)
	if n == nil {
		return false
	}
	_, ok := n.find(id)
	return ok
}

// walk is one call of Range.
type walk struct {
	start, end ID
	fn         func(id ID, fv FieldValues) bool
	scratch    scratch
}

// forward visits the node where the range begins. It only visits the index if the range continues, which is
// rare.
func (w *walk) forward(s *Stream) {
	from := ID{} // before all nodes
	if n := s.floor(w.start); n != nil {
		if !w.nodeForward(n) || n == s.tail {
			return
		}
		from = n.master.Next()
	}
	nodesOf(s).Ascend(slot{master: from}, func(sl slot) bool { return w.nodeForward(sl.node) })
}

// reverse is forward from the end.
func (w *walk) reverse(s *Stream) {
	n := s.floor(w.end)
	if n == nil || !w.nodeReverse(n) || n.master.IsZero() {
		return
	}
	nodesOf(s).Descend(slot{master: n.master.Prev()}, func(sl slot) bool { return w.nodeReverse(sl.node) })
}

// nodeForward visits a node and reports whether to continue with the next. Only live entries may end the
// walk: after the last ID was set back, deleted entries may be out of order.
func (w *walk) nodeForward(n *node) bool {
	if w.end.Less(n.master) {
		return false
	}
	c := n.open()
	for e, ok := c.first(); ok; e, ok = c.next(e) {
		if e.deleted() || e.id.Less(w.start) {
			continue
		}
		if w.end.Less(e.id) || !w.fn(e.id, c.values(e, &w.scratch)) {
			return false
		}
	}
	return true
}

// nodeReverse is nodeForward from the end.
func (w *walk) nodeReverse(n *node) bool {
	c := n.open()
	for e, ok := c.last(); ok; e, ok = c.prev(e) {
		if e.deleted() || w.end.Less(e.id) {
			continue
		}
		if e.id.Less(w.start) || !w.fn(e.id, c.values(e, &w.scratch)) {
			return false
		}
	}
	return true
}
