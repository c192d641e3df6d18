package store

import "lockserver/internal/decimal"

// TTL decides what happens to a key's deadline when its value is replaced.
type TTL int64

// KeepTTL keeps the deadline; NoTTL removes it; any other value is the new deadline in milliseconds since
// 1970.
const (
	NoTTL   TTL = 0
	KeepTTL TTL = -1
)

// StringEdit writes the string of a key, which may be missing.
type StringEdit struct {
	db  *DB
	key []byte
}

// EditString returns the door to write key's string.
func (db *DB) EditString(key []byte) StringEdit { return StringEdit{db, key} }

// Set makes key a string with a copy of val, and replaces the value there. It counts as a use of the
// key. A deadline that is not in the future removes the key instead.
func (e StringEdit) Set(val []byte, ttl TTL) { e.setCopy(val, ttl, true) }

// Update is Set for a command that has looked up the key. It does not count as another use.
func (e StringEdit) Update(val []byte, ttl TTL) { e.setCopy(val, ttl, false) }

// setCopy returns the key's slot; -1 if the key is removed.
func (e StringEdit) setCopy(val []byte, ttl TTL, use bool) (slot int) {
	if ttl > 0 && !e.db.store.Takes(int64(ttl)) {
		if !e.db.Delete(e.key) {
			e.db.made(e.key) // and it is removed at once
			e.db.changed(e.key)
		}
		return -1
	}
	return e.setOwned(append(make([]byte, 0, len(val)), val...), ttl, use)
}

// setOwned is Set, or without use Update, for bytes that no other code holds. It returns the
// key's slot.
func (e StringEdit) setOwned(val []byte, ttl TTL, use bool) (slot int) {
	keys := e.db.space.keys
	slot = e.db.space.recent
	var h uint64
	if !keys.Holds(slot, e.key) {
		h = keys.Hash(e.key)
		slot = keys.Find(h, e.key)
	}
	if slot >= 0 && e.db.store.overdue(keys.Side(slot)) {
		e.db.space.expireSlot(slot)
		slot, h = -1, keys.Hash(e.key)
	}
	var v *value
	if slot < 0 {
		slot = e.db.space.insert(h, e.key, value{})
		v = keys.Mut(slot)
		v.access = e.db.store.born()
		e.db.made(e.key)
	} else {
		e.db.space.before(slot)
		v = keys.Mut(slot)
		if use {
			e.db.store.touch(v)
		}
		if v.tag() > String {
			e.db.space.endLock(slot, e.key, LockEnd{Replaced: true})
			e.db.store.freeing(e.db.store.lazy.ServerDel, v)
			e.db.space.unwatch(v)
		}
	}
	was := v.size()
	v.setString(val)
	if v.tag() == String {
		was -= rounded(len(val))
	} else {
		was -= v.size()
	}
	if was != 0 { // mostly the old value has the same size
		e.db.space.charge(-was)
	}
	if ttl != KeepTTL {
		e.db.space.setDeadline(slot, int64(ttl))
	}
	if e.db.store.effects != nil {
		e.recordSet(val, ttl)
	}
	e.db.changed(e.key)
	return slot
}

func (e StringEdit) recordSet(val []byte, ttl TTL) {
	switch ttl {
	case NoTTL:
		e.db.store.record(e.db, "SET", e.key, val)
	case KeepTTL:
		e.db.store.record(e.db, "SET", e.key, val, []byte("KEEPTTL"))
	default:
		e.db.store.record(e.db, "SET", e.key, val, []byte("PXAT"), appendInt(nil, int64(ttl)))
	}
}

// PutBuffer is Set without a deadline. It takes ownership of the bytes: no other code may hold them.
// They may be written to in place later, like the bytes of SetRange.
func (e StringEdit) PutBuffer(val []byte) {
	e.setOwned(val, NoTTL, true)
	keys := e.db.space.keys
	slot := keys.Find(keys.Hash(e.key), e.key)
	v := keys.Mut(slot)
	was := v.size()
	v.setBuffer(&growable{b: val, stamp: e.db.store.values.Now()})
	e.db.space.charge(v.size() - was)
}

// SetText makes key, which was looked up, the string of a sum and keeps its deadline: INCRBYFLOAT does this.
// Unlike SET it stores an integer as text.
func (e StringEdit) SetText(sum []byte) {
	e.Update(sum, KeepTTL)
	if _, whole := decimal.ParseInt(sum); whole {
		keys := e.db.space.keys
		keys.Mut(keys.Find(keys.Hash(e.key), e.key)).retag(text)
	}
}

// SetInt makes key, which was looked up, the string of n and keeps its deadline: INCR does this.
func (e StringEdit) SetInt(n int64) {
	var text [20]byte
	e.Update(appendInt(text[:0], n), KeepTTL)
}

// buffer returns the string of key, which was looked up, as a buffer that may be written anywhere. It
// makes an empty one if the key does not exist. The parameter extra is the number of additional bytes needed.
// The caller charges for the change of the length.
func (e StringEdit) buffer(extra int) *growable {
	slot := e.db.find(e.key)
	if slot < 0 {
		g := &growable{b: make([]byte, 0, extra), stamp: e.db.store.values.Now()}
		var v value
		v.setBuffer(g)
		e.db.put(e.key, v)
		return g
	}
	v := e.db.space.keys.Mut(slot)
	if v.tag() == buffer && !e.db.store.values.Shared(v.growable().stamp) {
		return v.growable()
	}
	e.db.space.before(slot)
	old := v.bytes()
	g := &growable{b: append(make([]byte, 0, len(old)+extra), old...), stamp: e.db.store.values.Now()}
	was := v.size()
	v.setBuffer(g)
	e.db.space.charge(g.size() - was)
	return g
}

// MakeRaw gives key's string the encoding "raw". A command that writes to a string does so even if no bit has
// changed. The value stays the same.
func (e StringEdit) MakeRaw() {
	if r := e.db.Peek(e.key); r.OK() && len(r.Bytes()) <= embstrMax {
		e.buffer(0)
	}
}

// Lengthen extends key's string with zero bytes up to a length, and creates it if necessary. Clients that
// watch the key are not notified, as in Redis, where a BITFIELD with only failed writes does so.
func (e StringEdit) Lengthen(length int) {
	g := e.buffer(length)
	grow := length - len(g.b)
	if grow <= 0 {
		return
	}
	was := g.size()
	g.b = append(g.b, make([]byte, grow)...)
	e.db.space.charge(g.size() - was)
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "SETRANGE", e.key, appendInt(nil, int64(length-1)), []byte{0})
	}
	e.db.store.dirty++
}

// Append adds val to the end of key's string and returns the new length in bytes. It makes the string if the
// key does not exist. As in Redis, a new string is stored as SET would store it.
func (e StringEdit) Append(val []byte) int {
	if !e.db.Peek(e.key).OK() {
		e.Set(val, NoTTL)
		return len(val)
	}
	g := e.buffer(len(val))
	was := g.size()
	g.b = append(g.b, val...)
	e.db.space.charge(g.size() - was)
	e.db.store.record(e.db, "APPEND", e.key, val)
	e.db.changed(e.key)
	return len(g.b)
}

// SetRange overwrites key's string from offset on, fills a gap with zero bytes, and returns the new length in
// bytes.
func (e StringEdit) SetRange(offset int, val []byte) int {
	end := offset + len(val)
	g := e.buffer(end)
	if grow := end - len(g.b); grow > 0 {
		was := g.size()
		g.b = append(g.b, make([]byte, grow)...)
		e.db.space.charge(g.size() - was)
	}
	copy(g.b[offset:end], val)
	if e.db.store.effects != nil {
		e.db.store.record(e.db, "SETRANGE", e.key, appendInt(nil, int64(offset)), val)
	}
	e.db.changed(e.key)
	return len(g.b)
}
