package store

import (
	"strconv"

	"lockserver/store/stream"
)

// StreamEdit writes to one key's stream. Unlike other containers a stream stays when its last entry goes. The
// caller has checked that the key is missing or a stream.
type StreamEdit struct {
	db  *DB
	key []byte
	s   *stream.Stream // nil: no such key yet
}

// EditStream opens key's stream for a caller who has looked the key up: it is not used once more.
func (db *DB) EditStream(key []byte) (e StreamEdit) {
	e.db, e.key = db, key
	if slot := db.find(key); slot >= 0 {
		e.s = db.space.own(slot, nil).stream()
	}
	return e
}

// Stream returns the stream to read; nil if there is none.
func (e *StreamEdit) Stream() *stream.Stream { return e.s }

// charge accounts for a change of the entries; was is their size before.
func (e *StreamEdit) charge(was int) { e.db.space.charge(e.s.EntriesSize() - was) }

// Add appends an entry, making the stream if there is none. id must be above the last id,
// fields alternate field and value.
func (e *StreamEdit) Add(id stream.ID, fields [][]byte) {
	e.Create()
	was := e.s.EntriesSize()
	e.s.Add(e.db.store.limits.Stream, id, fields)
	e.charge(was)
	if e.db.store.effects != nil {
		args := append([][]byte{e.key, id.AppendTo(nil)}, fields...)
		e.db.store.record(e.db, "XADD", args...)
	}
	e.db.changed(e.key)
}

// Delete removes an entry and says whether there was one.
func (e *StreamEdit) Delete(id stream.ID) bool {
	if e.s == nil {
		return false
	}
	was := e.s.EntriesSize()
	if !e.s.Delete(id) {
		return false
	}
	e.charge(was)
	if e.db.store.effects != nil {
		e.db.store.recordMember(e.db, "XDEL", e.key, id.AppendTo(nil))
	}
	e.db.changed(e.key)
	return true
}

// Trim removes entries from the front as the strategy says and returns how many. Whole nodes of deleted
// entries may go without any that live.
func (e *StreamEdit) Trim(t stream.Strategy) int {
	if e.s == nil {
		return 0
	}
	if t.Refs != stream.KeepRefs && len(e.s.Groups()) > 0 {
		return e.trimByRefs(t)
	}
	nodes, was := e.s.NodeCount(), e.s.EntriesSize()
	n := e.s.Trim(e.db.store.limits.Stream, t)
	e.charge(was)
	if n == 0 && e.s.NodeCount() == nodes {
		return 0
	}
	if e.db.store.effects != nil {
		by, threshold := exactTrim(e.s, t)
		e.db.store.record(e.db, "XTRIM", e.key, []byte(by), threshold)
	}
	if n > 0 { // or else only what was deleted before is gone: nothing to see for those who watch the key
		e.db.changedBy(e.key, n)
	}
	return n
}

// exactTrim is how to tell an exact trim what t has done, so that it leaves the same entries in the same
// nodes. What an approximate trim does depends on its limit and on where nodes end, but it removes whole
// nodes: everything below the node that is now the first.
func exactTrim(s *stream.Stream, t stream.Strategy) (by string, threshold []byte) {
	if t.Approx {
		for master := range s.Nodes() {
			return "MINID", master.AppendTo(nil)
		}
	}
	if t.By == stream.ByMinID {
		return "MINID", t.MinID.AppendTo(nil)
	}
	return "MAXLEN", appendInt(nil, int64(s.Len()))
}

// SetID sets the last id, and where they are not nil the count of entries ever added and the highest id ever
// deleted. The key must exist. Only what was given is recorded: a highest deleted id that stands above the
// last id is legal, but XSETID does not take it.
func (e *StreamEdit) SetID(last stream.ID, added *uint64, maxDeleted *stream.ID) {
	e.s.SetID(last, added, maxDeleted)
	if e.db.store.effects != nil {
		args := [][]byte{e.key, last.AppendTo(nil)}
		if added != nil {
			args = append(args, []byte("ENTRIESADDED"), strconv.AppendUint(nil, *added, 10))
		}
		if maxDeleted != nil {
			args = append(args, []byte("MAXDELETEDID"), maxDeleted.AppendTo(nil))
		}
		e.db.store.record(e.db, "XSETID", args...)
	}
	e.db.store.dirty++ // no entry has changed, and so for WATCH, as in Redis, nothing
}

// OpenStream is OpenHash for streams.
func (db *DB) OpenStream(key []byte) (e StreamEdit, ok bool) {
	v, _, ok := db.open(key, Stream)
	if !ok {
		return e, false
	}
	e = StreamEdit{db: db, key: key}
	if v != nil {
		e.s = v.stream()
	}
	return e, true
}
