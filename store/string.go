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

// SetString makes key a string with a copy of val, and replaces the value there. It counts as a use of the
// key. A deadline that is not in the future removes the key instead.
func (db *DB) SetString(key, val []byte, ttl TTL) { db.setCopy(key, val, ttl, true) }

// UpdateString is SetString for a command that has looked up the key. It does not count as another use.
func (db *DB) UpdateString(key, val []byte, ttl TTL) { db.setCopy(key, val, ttl, false) }

// setCopy returns the key's slot; -1 if the key is removed.
func (db *DB) setCopy(key, val []byte, ttl TTL, use bool) (slot int) {
	if ttl > 0 && !db.store.Takes(int64(ttl)) {
		if !db.Delete(key) {
			db.made(key) // and it is removed at once
			db.changed(key)
		}
		return -1
	}
	return db.setOwned(key, append(make([]byte, 0, len(val)), val...), ttl, use)
}

// setOwned is SetString, or without use UpdateString, for bytes that no other code holds. It returns the
// key's slot.
func (db *DB) setOwned(key, val []byte, ttl TTL, use bool) (slot int) {
	keys := db.space.keys
	slot = db.space.recent
	var h uint64
	if !keys.Holds(slot, key) {
		h = keys.Hash(key)
		slot = keys.Find(h, key)
	}
	if slot >= 0 && db.store.overdue(keys.Side(slot)) {
		db.expireSlot(slot)
		slot, h = -1, keys.Hash(key)
	}
	var v *value
	if slot < 0 {
		slot = db.space.insert(h, key, value{})
		v = keys.Mut(slot)
		v.access = db.store.born()
		db.made(key)
	} else {
		db.space.before(slot)
		v = keys.Mut(slot)
		if use {
			db.store.touch(v)
		}
		if v.tag() > String {
			db.endLock(slot, key, LockEnd{Replaced: true})
			db.store.freeing(db.store.lazy.ServerDel, v)
			db.space.unwatch(v)
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
		db.space.charge(-was)
	}
	if ttl != KeepTTL {
		db.space.setDeadline(slot, int64(ttl))
	}
	if db.store.effects != nil {
		db.recordSet(key, val, ttl)
	}
	db.changed(key)
	return slot
}

func (db *DB) recordSet(key, val []byte, ttl TTL) {
	switch ttl {
	case NoTTL:
		db.store.record(db, "SET", key, val)
	case KeepTTL:
		db.store.record(db, "SET", key, val, []byte("KEEPTTL"))
	default:
		db.store.record(db, "SET", key, val, []byte("PXAT"), appendInt(nil, int64(ttl)))
	}
}

// PutBuffer is SetString without a deadline. It takes ownership of the bytes: no other code may hold them.
// They may be written to in place later, like the bytes of SetRange.
func (db *DB) PutBuffer(key, val []byte) {
	db.setOwned(key, val, NoTTL, true)
	keys := db.space.keys
	slot := keys.Find(keys.Hash(key), key)
	v := keys.Mut(slot)
	was := v.size()
	v.setBuffer(&growable{b: val, stamp: db.store.values.Now()})
	db.space.charge(v.size() - was)
}

// SetText makes key, which was looked up, the string of a sum and keeps its deadline: INCRBYFLOAT does this.
// Unlike SET it stores an integer as text.
func (db *DB) SetText(key, sum []byte) {
	db.UpdateString(key, sum, KeepTTL)
	if _, whole := decimal.ParseInt(sum); whole {
		keys := db.space.keys
		keys.Mut(keys.Find(keys.Hash(key), key)).retag(text)
	}
}

// SetInt makes key, which was looked up, the string of n and keeps its deadline: INCR does this.
func (db *DB) SetInt(key []byte, n int64) {
	var text [20]byte
	db.UpdateString(key, appendInt(text[:0], n), KeepTTL)
}

// writableBuffer returns the string of key, which was looked up, as a buffer that may be written anywhere. It
// makes an empty one if the key does not exist. The parameter extra is the number of additional bytes needed.
// The caller charges for the change of the length.
func (db *DB) writableBuffer(key []byte, extra int) *growable {
	slot := db.find(key)
	if slot < 0 {
		g := &growable{b: make([]byte, 0, extra), stamp: db.store.values.Now()}
		var v value
		v.setBuffer(g)
		db.put(key, v)
		return g
	}
	v := db.space.keys.Mut(slot)
	if v.tag() == buffer && !db.store.values.Shared(v.growable().stamp) {
		return v.growable()
	}
	db.space.before(slot)
	old := v.bytes()
	g := &growable{b: append(make([]byte, 0, len(old)+extra), old...), stamp: db.store.values.Now()}
	was := v.size()
	v.setBuffer(g)
	db.space.charge(g.size() - was)
	return g
}

// MakeRaw gives key's string the encoding "raw". A command that writes to a string does so even if no bit has
// changed. The value stays the same.
func (db *DB) MakeRaw(key []byte) {
	if r := db.Peek(key); r.OK() && len(r.Bytes()) <= embstrMax {
		db.writableBuffer(key, 0)
	}
}

// Lengthen extends key's string with zero bytes up to a length, and creates it if necessary. Clients that
// watch the key are not notified, as in Redis, where a BITFIELD with only failed writes does so.
func (db *DB) Lengthen(key []byte, length int) {
	g := db.writableBuffer(key, length)
	grow := length - len(g.b)
	if grow <= 0 {
		return
	}
	was := g.size()
	g.b = append(g.b, make([]byte, grow)...)
	db.space.charge(g.size() - was)
	if db.store.effects != nil {
		db.store.record(db, "SETRANGE", key, appendInt(nil, int64(length-1)), []byte{0})
	}
	db.store.dirty++
}

// Append adds val to the end of key's string and returns the new length in bytes. It makes the string if the
// key does not exist. As in Redis, a new string is stored as SET would store it.
func (db *DB) Append(key, val []byte) int {
	if !db.Peek(key).OK() {
		db.SetString(key, val, NoTTL)
		return len(val)
	}
	g := db.writableBuffer(key, len(val))
	was := g.size()
	g.b = append(g.b, val...)
	db.space.charge(g.size() - was)
	db.store.record(db, "APPEND", key, val)
	db.changed(key)
	return len(g.b)
}

// SetRange overwrites key's string from offset on, fills a gap with zero bytes, and returns the new length in
// bytes.
func (db *DB) SetRange(key []byte, offset int, val []byte) int {
	end := offset + len(val)
	g := db.writableBuffer(key, end)
	if grow := end - len(g.b); grow > 0 {
		was := g.size()
		g.b = append(g.b, make([]byte, grow)...)
		db.space.charge(g.size() - was)
	}
	copy(g.b[offset:end], val)
	if db.store.effects != nil {
		db.store.record(db, "SETRANGE", key, appendInt(nil, int64(offset)), val)
	}
	db.changed(key)
	return len(g.b)
}
