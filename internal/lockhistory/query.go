package lockhistory

// Query selects events.
type Query struct {
	DB         int
	Key, Owner []byte // nil matches every key or owner. An event about all locks of a database matches any key and owner
	// SinceUS and UntilUS are the first and last time, in microseconds since 1970. 0 means no limit.
	SinceUS, UntilUS int64
	// After limits the query to events with numbers above After.
	After int64
}

// Latest visits the matching events, the latest first, until visit returns false. An event is valid only
// during the visit.
func (r *Ring) Latest(q Query, visit func(e *Event) bool) {
	var starts []int
	for i := len(r.chunks) - 1; i >= 0; i-- {
		c := &r.chunks[i]
		if c.firstID+int64(c.count) <= q.After+1 {
			return
		}
		starts = c.appendStarts(starts[:0])
		m := matcher{q: q, chunk: c}
		for j := c.count - 1; j >= 0; j-- {
			if c.firstID+int64(j) <= q.After || m.fits(j, starts[j]) && !visit(&m.e) {
				return
			}
		}
	}
}

// Oldest visits the same events as Latest, the oldest first.
func (r *Ring) Oldest(q Query, visit func(e *Event) bool) {
	for i := range r.chunks {
		c := &r.chunks[i]
		if c.firstID+int64(c.count) <= q.After+1 {
			continue
		}
		m := matcher{q: q, chunk: c}
		for j, at := 0, 0; j < c.count; j, at = j+1, c.next(at) {
			if c.firstID+int64(j) > q.After && m.fits(j, at) && !visit(&m.e) {
				return
			}
		}
	}
}

// appendStarts appends the offset of each event of the chunk.
func (c *chunk) appendStarts(to []int) []int {
	for at := 0; at < c.end; at = c.next(at) {
		to = append(to, at)
	}
	return to
}

// matcher compares the events of one chunk with a query. The same names can be in a chunk more than once.
type matcher struct {
	q     Query
	chunk *chunk
	// names and fit are the last answer of named: neighbouring events often have the same names.
	names uint32
	fit   bool
	asked bool
	e     Event
}

// named reports whether the key and the owner at the offset names match the query.
func (m *matcher) named(names uint32) bool {
	if names == noKey || m.q.Key == nil && m.q.Owner == nil {
		return true
	}
	if !m.asked || names != m.names {
		key, owner := m.chunk.namesAt(names)
		m.asked, m.names = true, names
		m.fit = (m.q.Key == nil || string(key) == string(cut(m.q.Key))) && (m.q.Owner == nil || string(owner) == string(cut(m.q.Owner)))
	}
	return m.fit
}

// fits reports whether the event with the number firstID+i matches the query. If so, it reads the event,
// which begins at the offset at, into m.e.
func (m *matcher) fits(i, at int) bool {
	head := m.chunk.buf[at : at+headBytes]
	flags, names, client := load32(head), load32(head[16:]), load32(head[20:])
	if !m.named(names) {
		return false
	}
	p, q := m.chunk.partsAt(at), &m.q
	if q.SinceUS != 0 && p.atUS < q.SinceUS || q.UntilUS != 0 && p.atUS > q.UntilUS || p.db != q.DB {
		return false
	}
	e := &m.e
	*e = Event{ID: m.chunk.firstID + int64(i), AtUS: p.atUS, DB: p.db, Kind: Kind(flags), Reason: Reason(flags >> reasonShift), Mode: Mode(flags >> modeShift),
		Token: p.token, TookUS: p.tookUS, Permits: p.permits}
	if p.trace != nil {
		e.Trace = traceOf(p.trace)
	}
	if names != noKey {
		if e.Key, e.Owner = m.chunk.namesAt(names); len(e.Owner) == 0 {
			e.Owner = nil
		}
	}
	if client != noClient {
		e.Client, e.Address = m.chunk.clientAt(client)
	}
	return true
}
