package store

import "lockserver/store/stream"

// StreamEdit writes to one key's stream. Unlike other containers a stream stays when its last entry goes. The caller
// has checked that the key is missing or a stream.
type StreamEdit struct {
	db  *DB
	key []byte
	s   *stream.Stream // nil: no such key yet
}

// EditStream opens key's stream for writing.
func (db *DB) EditStream(key []byte) StreamEdit {
	e := StreamEdit{db: db, key: key}
	if slot := db.find(key); slot >= 0 {
		v := db.space.keys.Mut(slot)
		v.own(db.store)
		v.access = uint32(db.store.nowMS / 1000)
		e.s = v.stream()
	}
	return e
}

// Stream returns the stream to read; nil if there is none.
func (e *StreamEdit) Stream() *stream.Stream { return e.s }

// Add appends an entry, making the stream if there is none. id must be above the last id, fields alternate field and
// value.
func (e *StreamEdit) Add(id stream.ID, fields [][]byte) {
	if e.s == nil {
		e.s = stream.New(&e.db.store.epoch)
		var v value
		v.setStream(e.s)
		e.db.put(e.key, v)
	}
	e.s.Add(e.db.store.limits.Stream, id, fields)
	if e.db.store.effects != nil {
		args := append([][]byte{e.key, id.AppendTo(nil)}, fields...)
		e.db.store.record(e.db, "XADD", args...)
	}
	e.db.changed(e.key)
}

// Delete removes an entry and says whether there was one.
func (e *StreamEdit) Delete(id stream.ID) bool {
	if e.s == nil || !e.s.Delete(id) {
		return false
	}
	if e.db.store.effects != nil {
		e.db.store.recordMember(e.db, "XDEL", e.key, id.AppendTo(nil))
	}
	e.db.changed(e.key)
	return true
}

// Trim removes entries from the front as the strategy says and returns how many. What is recorded is exact, however
// approximate the strategy was: everything below the first entry that is left.
func (e *StreamEdit) Trim(t stream.Strategy) int {
	if e.s == nil {
		return 0
	}
	n := e.s.Trim(e.db.store.limits.Stream, t)
	if n == 0 {
		return 0
	}
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "XTRIM", e.key, []byte("MAXLEN"), appendInt(nil, int64(e.s.Len())))
	}
	e.db.changed(e.key)
	return n
}

// SetID sets the last id, and where they are not nil the count of entries ever added and the highest id ever deleted.
func (e *StreamEdit) SetID(last stream.ID, added *uint64, maxDeleted *stream.ID) {
	e.s.SetID(last, added, maxDeleted)
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "XSETID", e.key, last.AppendTo(nil),
			[]byte("ENTRIESADDED"), appendInt(nil, int64(e.s.EntriesAdded())),
			[]byte("MAXDELETEDID"), e.s.MaxDeletedID().AppendTo(nil))
	}
	e.db.changed(e.key)
}

// Create makes an empty stream, as XADD with MAXLEN 0 leaves one. The key must be missing.
func (e *StreamEdit) Create() {
	e.s = stream.New(&e.db.store.epoch)
	var v value
	v.setStream(e.s)
	e.db.put(e.key, v)
}
