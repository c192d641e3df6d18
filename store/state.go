package store

import "math/bits"

// A state is a short text with a deadline that is replaced again and again by a text of the same length, such
// as the state of a limiter. For clients it is a string like any other. Its bytes belong to its key alone, so
// the next state is written over them. While there is a snapshot, which may read them, each state gets new
// bytes.

// leastState is the length of the shortest text that is stored in this way. Shorter integers may be shared by
// all keys.
const leastState = 16

// FindState is FindToWrite with the key's slot, for PutState; it is -1 if there is no such key.
func (db *DB) FindState(key []byte) (slot int, r Ref) {
	slot, r = db.lookUp(key)
	if r.v != nil {
		db.store.touch(r.v)
	}
	return slot, r
}

// ForgetRecent makes the next look-up cheaper if its key is not the key of the look-up before.
func ForgetRecent(db *DB) { db.space.recent = -1 }

// PutState makes key a string with a copy of text and the deadline atMS, milliseconds since 1970, which must
// not have passed. slot is the result of FindState; no key was added, removed or moved since. PutState
// returns true if it may have done so itself: the slots of other keys are not valid any more.
func (db *DB) PutState(slot int, key, text []byte, atMS int64) (moved bool) {
	if slot >= 0 && db.space.overwrite(slot, text, atMS) {
		if db.store.effects != nil {
			db.EditString(key).recordSet(text, TTL(atMS))
		}
		db.changed(key)
		return false
	}
	if slot = db.EditString(key).setCopy(text, TTL(atMS), false); slot >= 0 && len(text) >= leastState {
		if v := db.space.keys.Mut(slot); v.tag() == String {
			v.retag(state)
		}
	}
	return true
}

// overwrite is PutState for a key with a state of the same length and no later deadline. If it returns false,
// the key has no such state and nothing has changed.
func (sp *space) overwrite(slot int, text []byte, atMS int64) bool {
	if sp.store.values.Active() > 0 || sp.ownKeys != nil || sp.store.ownDeadlines {
		return false
	}
	v, deadlineMS := sp.keys.MutSided(slot)
	if v.tag() != state || len(text) != int(v.meta&maxInline) || deadlineMS == nil {
		return false
	}
	wasMS := *deadlineMS
	if wasMS <= 0 || wasMS > atMS {
		return false
	}
	copy(v.bytes(), text)
	low, carry := bits.Add64(sp.deadlineSum[0], uint64(atMS-wasMS), 0)
	sp.deadlineSum = [2]uint64{low, sp.deadlineSum[1] + carry}
	*deadlineMS = atMS // the bound of its group is early enough
	return true
}
