package store

import (
	"lockserver/store/due"
	"lockserver/store/hash"
	"lockserver/store/renewals"
)

// Indexes of locks and sales. They are for listing without a walk through the keyspace. They contain the
// hashes with a token, the keys with the prefix of a sale's stock, and the number of keys with the prefix of
// Redisson's companions of a lock. So companions of Redisson cost nothing in a database without them.

// insert puts a key into the space, which must not have it.
func (sp *space) insert(h uint64, key []byte, v value) (slot int) {
	if IsCompanion(key) {
		sp.companions++
	}
	if v.tag() == Bloom {
		sp.blooms++
	}
	sp.charge(keyBytes + named(len(key)) + v.size())
	if name := v.name(); name != nil && string(name.Bytes()) == string(key) {
		slot = sp.keys.InsertKey(h, name, v)
	} else {
		slot = sp.keys.Insert(h, key, v)
	}
	if isStock(key) {
		sp.stocks.Add(slot)
	}
	sp.absent(slot)
	return slot
}

// delete removes the key of a slot from the space.
func (sp *space) delete(h uint64, slot int) {
	sp.before(slot)
	name, v := sp.keys.At(slot)
	sp.charge(-keyBytes - named(len(name)) - v.size())
	if len(name) > 0 && name[0] == CompanionPrefix[0] && IsCompanion([]byte(name)) {
		sp.companions--
	}
	sp.forgetAlarm(name)
	last := sp.keys.Len() - 1
	sp.moveHeld(slot, last)
	sp.tokens.Moved(slot, last)
	sp.stocks.Moved(slot, last)
	sp.moveLockRecord(slot, last)
	if sp.renewals.Moved(slot, last) {
		sp.charge(-renewals.Bytes)
	}
	if slot>>boundBits != last>>boundBits {
		if movedMS := sp.keys.Side(last); movedMS != 0 {
			sp.bounds.Lower(slot>>boundBits, movedMS)
		}
	}
	sp.keys.Delete(h, slot)
}

// markToken adds a slot to the index if it holds a hash with a token. Later changes of the hash are detected
// by EachToken.
func (sp *space) markToken(slot int) (marked bool) {
	_, v := sp.keys.At(slot)
	if marked = v.hasToken(); marked {
		sp.tokens.Add(slot)
		sp.held(slot, tokenTimeMS(v.hash()))
	}
	return marked
}

// HighestToken returns the highest fencing token that any hash of this store has ever had, even if the hash
// is gone. All ways in which a hash gets a field pass through this store. So the token counts whether it
// comes from a command, a script, RESTORE, a file, the log, a master or a group. A token that TokenCanRise
// refuses does not count.
func (s *Store) HighestToken() int64 { return s.highestToken }

// ForgetTokens resets HighestToken, for tests.
func (s *Store) ForgetTokens() { s.highestToken = 0 }

// SeeField counts the token of a field, if the field holds a token. Loading and HashEdit do so
// themselves; a caller that drops an overdue field or hash calls it.
func (s *Store) SeeField(field, val []byte) {
	if token, ok := tokenIn(field, val); ok {
		s.seeToken(token)
	}
}

func (s *Store) seeToken(token int64) {
	if token > s.highestToken && TokenCanRise(s.nowUS, token) {
		s.highestToken = token
	}
}

// seeTokens counts the tokens of a hash that was not built by HashEdit.
func (s *Store) seeTokens(h *hash.Hash) {
	h.Each(func(field, val []byte) bool {
		s.SeeField(field, val)
		return true
	})
}

// addLease counts the key of an overdue slot in LeasesExpired if it is a held lock.
func (sp *space) addLease(slot int) {
	if !sp.tokens.Has(slot) {
		return
	}
	key, v := sp.keys.At(slot)
	if owners(v) > 0 {
		sp.db.leasesExpired += int64(max(1, v.hash().Timed()))
		sp.endLock(slot, []byte(key), LockEnd{Expired: true})
	}
}

// setLockRecord stores eight bytes for the key of a slot; 0 removes them.
func (sp *space) setLockRecord(slot int, record uint64) {
	n, was := &sp.lockRecords, sp.lockRecords.at(slot)
	if was == record {
		return
	}
	*n.of.Make(slot) = record
	if record != 0 {
		sp.held(slot, recordTimeMS(record))
	}
	switch {
	case was == 0:
		n.n++
		sp.charge(lockRecordBytes)
	case record == 0:
		n.n--
		sp.charge(-lockRecordBytes)
		if n.n == 0 {
			n.of.Emptied()
		}
	}
}

// moveLockRecord drops the record of a slot when its key is removed. The last key takes the slot, so its
// record moves there.
func (sp *space) moveLockRecord(slot, last int) {
	n := &sp.lockRecords
	if n.n == 0 {
		return
	}
	was, moved := n.at(slot), uint64(0)
	if slot != last {
		if p := n.of.At(last); p != nil {
			moved, *p = *p, 0
		}
	}
	if was != moved {
		*n.of.Make(slot) = moved
	}
	if moved != 0 {
		sp.held(slot, recordTimeMS(moved))
	}
	if was != 0 {
		n.n--
		sp.charge(-lockRecordBytes)
		if n.n == 0 {
			n.of.Emptied()
		}
	}
	n.of.Trim(last)
}

// heldMS returns the time at which the lock of a slot was acquired; due.Never if the slot holds no lock. For
// shared holders it is the time of the first of them.
func (sp *space) heldMS(slot int, v *value) int64 {
	if !v.hasToken() {
		return due.Never
	}
	if record := sp.lockRecords.at(slot); record != 0 && !v.hash().Has(shareField) {
		return recordTimeMS(record)
	}
	return tokenTimeMS(v.hash())
}

// held records that the lock of a slot was acquired at a time.
func (sp *space) held(slot int, sinceMS int64) {
	if sinceMS != due.Never {
		sp.heldSince.Lower(slot>>boundBits, sinceMS)
	}
}

// moveHeld records that the lock of the last slot moves to a slot. For a lock with a record setLockRecord
// does that.
func (sp *space) moveHeld(slot, last int) {
	if sp.tokens.Has(last) && sp.lockRecords.at(last) == 0 && slot>>boundBits != last>>boundBits {
		_, v := sp.keys.At(last)
		if v.tag() == Hash && v.hash().Timed() > fewPermits { // the bound of its group is early enough
			sp.held(slot, sp.heldSince.Of(last>>boundBits))
		} else {
			sp.held(slot, sp.heldMS(last, v))
		}
	}
}

// Holders returns the number of holders of the locks that EachToken may visit: one for each lock, or several
// if it is shared.
func (k Keys) Holders() int { return k.db.space.tokens.Len() + k.db.space.sharers }

// HasCompanions reports whether the database has any key with the prefix CompanionPrefix.
func (k Keys) HasCompanions() bool { return k.db.space.companions > 0 }

// Stocks returns the number of keys with the prefix StockPrefix.
func (k Keys) Stocks() int { return k.db.space.stocks.Len() }

// LeasesExpired returns the number of holders that lost locks with a token because their deadlines passed. It
// counts from the start, or from the last ResetStats.
func (db *DB) LeasesExpired() int64 { return db.leasesExpired }

// LockRecord returns the record that SetLockRecord stored for a live key; 0 if there is no record.
func (db *DB) LockRecord(key []byte) uint64 {
	if db.space.lockRecords.n == 0 {
		return 0
	}
	slot := db.find(key)
	if slot < 0 {
		return 0
	}
	return db.space.lockRecords.at(slot)
}

// IsCompanion reports whether a key has the name of a companion of a lock.
func IsCompanion(key []byte) bool {
	return len(key) >= len(CompanionPrefix) && key[0] == CompanionPrefix[0] && string(key[:len(CompanionPrefix)]) == CompanionPrefix
}

func isStock(key []byte) bool {
	return len(key) >= len(StockPrefix) && key[0] == StockPrefix[0] && string(key[:len(StockPrefix)]) == StockPrefix
}
