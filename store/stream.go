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
	s   *stream.Stream // nil: the key does not exist yet
}

// EditStream opens key's stream for a caller that has looked up the key. It does not count as another use.
func (db *DB) EditStream(key []byte) (e StreamEdit) {
	e.db, e.key = db, key
	if slot := db.find(key); slot >= 0 {
		e.s = db.space.own(slot, nil).stream()
	}
	return e
}

// Stream returns the stream to read; nil if there is no stream.
func (e *StreamEdit) Stream() *stream.Stream { return e.s }

// charge updates the used memory after a change of the entries. was is their size before the change.
func (e *StreamEdit) charge(was int) { e.db.space.charge(e.s.EntriesSize() - was) }

// Add appends an entry. It makes the stream if there is no stream. id must be above the last id; fields holds
// field and value alternately.
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

// Delete removes an entry and reports whether it existed.
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

// Trim removes entries from the front by the strategy and returns their number. It may also remove whole
// nodes of deleted entries without removing a live entry.
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
	if n > 0 { // otherwise only entries that were deleted before are gone, which clients that watch the key do not see
		e.db.changedBy(e.key, n)
	}
	return n
}

// exactTrim returns the arguments of an exact trim that has the same result as t: the same entries in the
// same nodes. The result of an approximate trim depends on its limit and on where nodes end. But it removes
// whole nodes: all entries before the present first node.
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

// SetID sets the last id. Where they are not nil, it also sets the count of entries ever added and the
// highest id ever deleted. The key must exist. Only the given arguments are recorded: a highest deleted id
// above the last id is legal, but XSETID does not accept it.
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
	e.db.store.dirty++ // no entry has changed, so WATCH sees no change, as in Redis
}

// OpenStream opens key's stream for writing, as OpenHash opens a hash.
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
