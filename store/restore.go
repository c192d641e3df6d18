package store

// Loose is a whole value that no key holds: what was decoded from a payload, before anything is changed for
// it. It must be used, or dropped, before the unit ends.
type Loose struct{ v value }

// Ref returns the value to read.
func (l *Loose) Ref() Ref { return Ref{v: &l.v} }

// Apart returns a database beside the numbered ones, which no command and no snapshot sees: the Load
// functions put a value there that has yet to prove whole. The caller leaves it empty, with TakeLoose or
// Discard.
func (s *Store) Apart() *DB {
	if s.apart == nil {
		s.apart = &DB{id: -1, store: s}
		s.apart.attach(s.newSpace())
	}
	return s.apart
}

// TakeLoose takes the value of a key, which must exist and have no deadline, out of the database Apart.
func (db *DB) TakeLoose(key []byte) *Loose {
	v, _ := db.take(key)
	return &Loose{v}
}

// Discard removes a key of the database Apart, if it is there.
func (db *DB) Discard(key []byte) { db.discard(key) }

// Restoring says what DB.Restore gives a key beside its value.
type Restoring struct {
	AtMS int64 // the deadline in milliseconds since 1970, which is to come; 0: none
	// IdleS is how many seconds ago the value was last used, and Freq how often it is, 0 to 255; -1: as of a
	// new one. The eviction policy decides which of them means something.
	IdleS int64
	Freq  int
	// Payload returns the value in the form in which RESTORE takes it. It is called only if effects are kept.
	Payload func() []byte
}

// Restore makes key hold a loose value, whatever it held before.
func (db *DB) Restore(key []byte, l *Loose, r Restoring) {
	renewal, renewed := db.lift(key)
	if db.find(key) >= 0 {
		db.displace(key)
	} else {
		db.vacate(key)
	}
	l.v.access = db.store.accessOf(r.IdleS, r.Freq)
	db.place(key, l.v, r.AtMS)
	if renewed {
		db.layAgain(key, renewal)
	}
	if db.store.effects != nil {
		db.store.record(db, "RESTORE", key, appendInt(nil, r.AtMS), r.Payload(), []byte("REPLACE"), []byte("ABSTTL"))
	}
	db.changed(key)
}
