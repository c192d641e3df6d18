package store

// Loose is a whole value without a key. It was decoded from a payload, before anything is changed for it. It
// must be used, or dropped, before the unit ends.
type Loose struct{ v value }

// Ref returns the value to read.
func (l *Loose) Ref() Ref { return Ref{v: &l.v} }

// Apart returns a database beside the numbered databases, which no command and no snapshot sees. The Load
// functions put a value there until it is known to be complete. The caller empties it again, with TakeLoose
// or Discard.
func (s *Store) Apart() *DB {
	if s.apart == nil {
		s.apart = &DB{id: -1, store: s}
		s.apart.attach(s.newSpace())
	}
	return s.apart
}

// TakeLoose takes the value of a key, which must exist and have no deadline, out of the database Apart.
func (db *DB) TakeLoose(key []byte) *Loose {
	v, _ := db.space.take(key)
	return &Loose{v}
}

// Discard removes a key of the database Apart, if it is there.
func (db *DB) Discard(key []byte) { db.space.discard(key) }

// Restoring holds the data that DB.Restore gives a key besides its value.
type Restoring struct {
	AtMS int64 // the deadline in milliseconds since 1970, not yet passed; 0: no deadline
	// IdleS is the number of seconds since the last use of the value, and Freq its frequency of use, 0 to
	// 255. -1 stands for a new value. The eviction policy decides which of the two is used.
	IdleS int64
	Freq  int
	// Payload returns the value in the form that RESTORE takes. It is called only if effects are kept.
	Payload func() []byte
}

// Restore puts a loose value at key, and replaces the value there.
func (db *DB) Restore(key []byte, l *Loose, r Restoring) {
	renewal, renewed := db.space.lift(key)
	if db.find(key) >= 0 {
		db.space.displace(key)
	} else {
		db.vacate(key)
	}
	l.v.access = db.store.eviction.accessOf(r.IdleS, r.Freq)
	db.space.place(key, l.v, r.AtMS)
	if renewed {
		db.space.layAgain(key, renewal)
	}
	if db.store.effects != nil {
		db.store.record(db, "RESTORE", key, appendInt(nil, r.AtMS), r.Payload(), []byte("REPLACE"), []byte("ABSTTL"))
	}
	db.changed(key)
}
