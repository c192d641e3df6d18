package server

import (
	"lockserver/commands"
	"lockserver/store"
)

// A lock keeps eight bytes about its holder: the low bits of its client's number, and the millisecond in
// which it acquired the lock. More is not worth the memory.
const (
	recordTimeBits = store.RecordTimeBits // milliseconds since 1970, until 2109
	recordTimeMask = 1<<recordTimeBits - 1
	recordIDs      = 1 << (64 - recordTimeBits)
)

// lockRecord makes these bytes for a lock that is acquired now. was are the bytes if another client of the
// same owner has acquired it before.
func lockRecord(c *commands.Ctx, was uint64) uint64 {
	since := c.NowMS()
	if was != 0 {
		since = int64(was & recordTimeMask)
	}
	if since <= 0 || since > recordTimeMask {
		return 0
	}
	return uint64(sessionOf(c).id)<<recordTimeBits | uint64(since)
}

// holderOf reads these bytes. sinceMS is when the lock was acquired, 0 if that is not known. s is the client
// that acquired it, nil if it has gone. Of several clients with the same low bits it is the last one that was
// there already.
func (ex *executor) holderOf(record uint64) (s *session, sinceMS int64) {
	if record == 0 {
		return nil, 0
	}
	sinceMS = int64(record & recordTimeMask)
	low := int64(record >> recordTimeBits)
	for id := ex.lastID - (ex.lastID-low)&(recordIDs-1); id > 0; id -= recordIDs {
		if s := ex.clients[id]; s != nil && s.info.createdUS/1000 <= sinceMS {
			return s, sinceMS
		}
	}
	return nil, sinceMS
}
