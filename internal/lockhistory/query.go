package lockhistory

import "encoding/binary"

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
	for i := len(r.chunks) - 1; i >= 0; i-- {
		c := &r.chunks[i]
		m := matcher{q: q, chunk: c}
		for j := c.count() - 1; j >= 0; j-- {
			if c.firstID+int64(j) <= q.After || m.fits(j) && !visit(&m.e) {
				return
			}
		}
	}
}

// Oldest is Latest with the oldest event first.
func (r *Ring) Oldest(q Query, visit func(e *Event) bool) {
	for i := range r.chunks {
		c := &r.chunks[i]
		m := matcher{q: q, chunk: c}
		for j := int(max(0, q.After-c.firstID+1)); j < c.count(); j++ {
			if m.fits(j) && !visit(&m.e) {
				return
			}
		}
	}
}

// LastID returns the number of the latest event; 0: there was none.
func (r *Ring) LastID() int64 { return r.nextID - 1 }

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
		key, owner := m.chunk.at(names)
		m.asked, m.names = true, names
		m.fit = (m.q.Key == nil || string(key) == string(cut(m.q.Key))) && (m.q.Owner == nil || string(owner) == string(cut(m.q.Owner)))
	}
	return m.fit
}

// fits reports whether an event is wanted, and reads it into m.e if so.
func (m *matcher) fits(i int) bool {
	b := m.chunk.record(i)
	at := int64(binary.LittleEndian.Uint64(b))
	names, place := binary.LittleEndian.Uint32(b[32:]), binary.LittleEndian.Uint32(b[44:])
	trace := names
	if place&traced != 0 {
		names = m.chunk.namesBehind(trace)
	}
	q := &m.q
	if q.SinceUS != 0 && at < q.SinceUS || q.UntilUS != 0 && at > q.UntilUS || int(place>>8) != q.DB || !m.named(names) {
		return false
	}
	e := &m.e
	*e = Event{ID: m.chunk.firstID + int64(i), AtUS: at, DB: q.DB, Kind: Kind(b[48]), Reason: Reason(b[49]), Mode: Mode(place &^ traced),
		Token: int64(binary.LittleEndian.Uint64(b[8:])), Client: int64(binary.LittleEndian.Uint64(b[16:])),
		TookUS: int64(binary.LittleEndian.Uint64(b[24:])), Permits: int32(binary.LittleEndian.Uint32(b[40:]))}
	if place&traced != 0 {
		e.Trace = m.chunk.traceAt(trace)
	}
	if names != noKey {
		if e.Key, e.Owner = m.chunk.at(names); len(e.Owner) == 0 {
			e.Owner = nil
		}
	}
	if e.Client != 0 {
		address, _ := m.chunk.at(binary.LittleEndian.Uint32(b[36:]))
		e.Address = string(address)
	}
	return true
}
