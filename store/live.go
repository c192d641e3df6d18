package store

import "lockserver/store/hash"

// PeekLive is Peek for readers of locks.
func (db *DB) PeekLive(key []byte) LiveRef {
	r := db.Peek(key)
	if !db.store.follows { // the look-up has removed what is overdue
		return LiveRef{r}
	}
	return db.space.withoutOverdue(r)
}

// liveRef returns the value of a key as readers of locks see it.
func (sp *space) liveRef(r Ref) LiveRef {
	if !sp.live(r) {
		return LiveRef{}
	}
	return sp.withoutOverdue(r)
}

// withoutOverdue is liveRef for a key that is not overdue.
func (sp *space) withoutOverdue(r Ref) LiveRef {
	if r.Kind() != Hash {
		return LiveRef{r}
	}
	h := r.v.hash()
	live := sp.db.LiveHash(h)
	switch live {
	case h:
		return LiveRef{r}
	case nil:
		return LiveRef{}
	}
	v := *r.v
	v.setHash(live)
	return LiveRef{Ref{&v, r.atMS}}
}

// LiveHash returns a hash of this database without its overdue fields: h itself if there are none, else a
// copy, and nil if no field is left. It takes time in proportion to the fields if one is overdue.
func (db *DB) LiveHash(h *hash.Hash) *hash.Hash {
	s := db.store
	// plant:live-hash
	if atMS, ok := s.fields.NextMS(); !ok || !s.Past(atMS) { // as nearly always
		return h
	}
	if _, atMS, ok := h.FirstDeadline(); !ok || !s.Past(atMS) {
		return h
	}
	e := hash.EditOf(s.hashes, nil, h.Copy(s.hashes, nil, s.limits.Hash))
	for field, atMS, ok := e.FirstDeadline(); ok && s.Past(atMS); field, atMS, ok = e.FirstDeadline() {
		e.Delete([]byte(field))
	}
	if e.Len() == 0 {
		return nil
	}
	return e.Hash
}
