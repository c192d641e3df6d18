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

// matcher looks at the events of one chunk. A text can be in a chunk more than once.
type matcher struct {
	q          Query
	chunk      *chunk
	key, owner memo
	e          Event
}

// memo remembers the latest answer for a text: neighbouring events often have the same one.
type memo struct {
	at   uint32
	fits bool
}

func (m *memo) ask(c *chunk, at uint32, wanted []byte) bool {
	if at != m.at {
		m.at, m.fits = at, string(c.at(at)) == string(wanted)
	}
	return m.fits
}

// fits reports whether an event is wanted, and reads it into m.e if so.
func (m *matcher) fits(i int) bool {
	b := m.chunk.record(i)
	at := int64(binary.LittleEndian.Uint64(b))
	keyAt, ownerAt := binary.LittleEndian.Uint32(b[32:]), binary.LittleEndian.Uint32(b[36:])
	switch q := &m.q; {
	case q.SinceUS != 0 && at < q.SinceUS, q.UntilUS != 0 && at > q.UntilUS,
		int(binary.LittleEndian.Uint32(b[52:])) != q.DB:
		return false
	case keyAt == 0:
	case q.Key != nil && !m.key.ask(m.chunk, keyAt, cut(q.Key)),
		q.Owner != nil && (ownerAt == 0 || !m.owner.ask(m.chunk, ownerAt, cut(q.Owner))):
		return false
	}
	e := &m.e
	*e = Event{ID: m.chunk.firstID + int64(i), AtUS: at, DB: m.q.DB, Kind: Kind(b[48]), Reason: Reason(b[49]), Mode: Mode(b[50]),
		Token: int64(binary.LittleEndian.Uint64(b[8:])), Client: int64(binary.LittleEndian.Uint64(b[16:])),
		TookUS: int64(binary.LittleEndian.Uint64(b[24:])), Permits: int32(binary.LittleEndian.Uint32(b[44:]))}
	if keyAt != 0 {
		e.Key = m.chunk.at(keyAt)
	}
	if ownerAt != 0 {
		e.Owner = m.chunk.at(ownerAt)
	}
	if address := binary.LittleEndian.Uint32(b[40:]); address != 0 && e.Client != 0 {
		e.Address = string(m.chunk.at(address))
	}
	return true
}
