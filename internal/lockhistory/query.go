package lockhistory

// Query says which events are wanted.
type Query struct {
	DB         int
	Key, Owner []byte // nil: any. An event about all locks of the database fits any key and any owner
	// SinceUS and UntilUS bound the time, both included, in microseconds since 1970; 0: no bound.
	SinceUS, UntilUS int64
	// After is a number: only events with higher numbers fit.
	After int64
}

// Latest visits the events that fit, the latest first, until visit returns false. The event is valid during
// the visit only.
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

// Oldest is Latest with the oldest event first.
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

// appendStarts appends where each event of the chunk begins.
func (c *chunk) appendStarts(to []int) []int {
	for at := 0; at < c.end; at = c.next(at) {
		to = append(to, at)
	}
	return to
}

// matcher looks at the events of one chunk. The same names can be in a chunk more than once.
type matcher struct {
	q     Query
	chunk *chunk
	// names and fit are the latest answer: neighbouring events often have the same names.
	names uint32
	fit   bool
	asked bool
	e     Event
}

// named reports whether the key and the owner of an event are wanted.
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

// fits reports whether an event is wanted, and reads it into m.e if so. It is the one with the number
// firstID+i, and begins at an offset.
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
