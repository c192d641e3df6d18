package store

import "lockserver/store/sparse"

// A lock keeps eight bytes about its holder: the low bits of its client's number, and the millisecond in
// which it acquired the lock. More is not worth the memory.

// RecordIDs is how many numbers of clients a record tells apart.
const RecordIDs = 1 << (64 - RecordTimeBits)

// NewLockRecord returns the record of a lock that a client has held since a time, in milliseconds since 1970;
// 0: the time does not fit.
func NewLockRecord(client, sinceMS int64) uint64 {
	if sinceMS <= 0 || sinceMS >= 1<<RecordTimeBits {
		return 0
	}
	return uint64(client)<<RecordTimeBits | uint64(sinceMS)
}

// ReadLockRecord returns the low bits of a client's number, below RecordIDs, and since when the lock is held,
// in milliseconds since 1970.
func ReadLockRecord(record uint64) (client, sinceMS int64) {
	return int64(record >> RecordTimeBits), recordTimeMS(record)
}

// lockRecords are eight bytes for some keys, by slot.
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

// moveLockRecord drops the bytes of a slot when its key is removed, and moves those of the last key, which
// takes the slot.
func (sp *space) moveLockRecord(slot, last int) {
	if sp.lockRecords.n > 0 {
		sp.setLockRecord(slot, sp.lockRecords.at(last))
		sp.setLockRecord(last, 0)
		sp.lockRecords.of.Trim(last)
	}
}

// SetLockRecord keeps eight bytes with the key's deadline, which it must have. They are lost with the
// deadline, by RENAME and with the process. Only LockRecord reads them.
func (e *HashEdit) SetLockRecord(record uint64) { e.db.space.setLockRecord(e.slot, record) }

// LockRecord returns what SetLockRecord stored for a live key; 0 if nothing.
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
