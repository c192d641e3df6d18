package store

// Witness hears of what happens to keys without, or beside, the doing of a command. It is called in the
// middle of a mutation: it may not touch the store. The keys belong to the store.
type Witness interface {
	// KeyExpired: the key's time had come, and it is gone.
	KeyExpired(db *DB, key []byte)
	// KeyEvicted: the key had to go because memory was full.
	KeyEvicted(db *DB, key []byte)
	// FieldsExpired: the time of fields of a hash had come; gone says that the key went with the last one.
	FieldsExpired(db *DB, key []byte, gone bool)
	// KeyMade: there was no such key. Its value may still be incomplete.
	KeyMade(db *DB, key []byte)
	// KeyMissed: a command read a key that is not there.
	KeyMissed(db *DB, key []byte)
}

// SetWitness attaches w, or detaches the present one when w is nil. Without a witness the cost is a nil
// check.
func (s *Store) SetWitness(w Witness) { s.witness = w }
