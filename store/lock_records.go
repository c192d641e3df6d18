package store

import (
	"lockserver/store/due"
	"lockserver/store/hash"
	"lockserver/store/sparse"
)

// For each lock eight bytes describe its holder: the low bits of its client's number, and the millisecond in
// which it acquired the lock. More would take too much memory.

// RecordIDs is the number of client numbers that a record can distinguish.
const RecordIDs = 1 << (64 - RecordTimeBits)

// NewLockRecord returns the record of a lock that a client has held since sinceMS, in milliseconds since
// 1970. It returns 0 if the time does not fit.
func NewLockRecord(client, sinceMS int64) uint64 {
	if sinceMS <= 0 || sinceMS >= 1<<RecordTimeBits {
		return 0
	}
	return uint64(client)<<RecordTimeBits | uint64(sinceMS)
}

// ReadLockRecord returns the low bits of a client's number, below RecordIDs, and the time of the acquisition,
// in milliseconds since 1970.
func ReadLockRecord(record uint64) (client, sinceMS int64) {
	return int64(record >> RecordTimeBits), recordTimeMS(record)
}

// lockRecords holds eight bytes for some keys, by slot.
type lockRecords struct {
	of sparse.Array[uint64]
	n  int
}

func (n *lockRecords) at(slot int) uint64 {
	if record := n.of.At(slot); record != nil {
		return *record
	}
	return 0
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

// SetLockRecord keeps eight bytes with the key's deadline, which it must have. They are lost with the
// deadline, by RENAME and with the process. Only LockRecord reads them.
func (e *HashEdit) SetLockRecord(record uint64) { e.db.space.setLockRecord(e.slot, record) }

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

// The search for the lock that has been held longest. As with deadlines (expire.go), 64 slots have one bound:
// a time before which none of their locks was acquired. An acquisition lowers the bound of its group. Mostly
// the bound is low enough already, because the group has earlier locks. A release leaves the bound too early.
// HeldSince looks through the groups with the earliest bounds, and corrects them.
//
// The time of the acquisition is in the lock's record. After a start, and on a replica, a lock has no record.
// Then the token gives the time: a token is the time in microseconds at which it was made, or more.

// RecordTimeBits is the number of low bits of a record (HashEdit.SetLockRecord) that hold the time of the
// acquisition, in milliseconds since 1970.
const RecordTimeBits = 42

// recordTimeMS returns the time of a record that is not 0.
func recordTimeMS(record uint64) int64 { return int64(record & (1<<RecordTimeBits - 1)) }

// HeldSince returns when the lock that has been held longest was acquired, in milliseconds since 1970; 0 if
// no lock is held. It considers the locks that EachToken visits. It looks at 64 keys at a time, at most
// groups times. Then it returns the earliest lock found so far, and the next call continues from there.
func (s *Store) HeldSince(groups int) (sinceMS int64) {
	earliest := int64(due.Never)
	for range groups {
		sp, boundMS := s.soonest(func(sp *space) *due.Bounds { return &sp.heldSince })
		if boundMS >= earliest {
			break
		}
		group, _ := sp.heldSince.First()
		groupMS := sp.heldIn(group)
		sp.heldSince.Raise(group, groupMS)
		earliest = min(earliest, groupMS)
	}
	if earliest == due.Never {
		return 0
	}
	return earliest
}

// HeldLooked returns the number of locks that all calls of HeldSince have looked at. It is for tests of the
// cost of a scrape.
func (s *Store) HeldLooked() int64 { return s.heldLooked }

// heldIn looks through the slots of a group for the lock that was acquired first. It returns due.Never if no
// lock is held.
func (sp *space) heldIn(group int) (earliestMS int64) {
	earliestMS = due.Never
	last := min((group+1)<<boundBits, sp.keys.Len())
	for slot := sp.tokens.Next(group << boundBits); slot >= 0 && slot < last; slot = sp.tokens.Next(slot + 1) {
		sp.db.store.heldLooked++
		if r := sp.refAt(slot); sp.db.live(r) && owners(r.v) > 0 {
			earliestMS = min(earliestMS, sp.heldMS(slot, r.v))
		}
	}
	return earliestMS
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

// tokenTimeMS returns the time at which the lowest fencing token of a lock's hash was made; due.Never if the
// hash has no token.
func tokenTimeMS(h *hash.Hash) int64 {
	if token, isInt, _ := h.GetInt([]byte(TokenField)); isInt {
		return token / 1000
	}
	lowest := int64(due.Never)
	h.Each(func(_, value []byte) bool {
		if token, _, ok := ShareToken(value); ok {
			lowest = min(lowest, token/1000)
		}
		return true
	})
	return lowest
}

// owners returns the number of holders of a lock with a token; 0 if the value is no lock, or the lock is
// free.
func owners(v *value) int {
	if !v.hasToken() {
		return 0
	}
	n := v.hash().Len() - 1
	if n > 0 && (v.hash().Has([]byte(WatchdogField)) || v.hash().Timed() > 0 && v.hash().Has(limitField)) {
		n--
	}
	return n
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

// seeField does what SeeField does, for a field that was written.
func (e *HashEdit) seeField(field, val []byte) {
	if token, ok := tokenIn(field, val); ok {
		e.seeToken(token)
	}
}

func (e *HashEdit) seeToken(token int64) {
	e.db.store.seeToken(token)
	e.db.space.held(e.slot, token/1000)
}
