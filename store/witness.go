package store

// Witness is called for events at keys that no command reports. The call is made in the middle of a mutation:
// it may not touch the store. The keys belong to the store.
type Witness interface {
	// KeyExpired: the key's deadline has passed, and the key is removed.
	KeyExpired(db *DB, key []byte)
	// KeyEvicted: the key was removed because memory was full.
	KeyEvicted(db *DB, key []byte)
	// FieldsExpired: fields of a hash have expired. gone: the key was removed with the last field.
	FieldsExpired(db *DB, key []byte, gone bool)
	// KeyMade: the key is new. Its value may still be incomplete.
	KeyMade(db *DB, key []byte)
	// KeyMissed: a command read a key that is not there.
	KeyMissed(db *DB, key []byte)
}

// SetWitness attaches w, or detaches the present one when w is nil. Without a witness the cost is a nil
// check.
func (s *Store) SetWitness(w Witness) { s.witness = w }
