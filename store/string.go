package store

import "lockserver/internal/decimal"

// TTL says what becomes of a key's deadline when its value is replaced.
type TTL int64

// KeepTTL leaves the deadline as it is; NoTTL takes it away; any other value is the new
// one in milliseconds since 1970.
const (
	NoTTL   TTL = 0
	KeepTTL TTL = -1
)

// SetString makes key a string holding a copy of val, whatever it held before, which is a use of the key. A
// deadline that is not in the future removes the key instead.
func (db *DB) SetString(key, val []byte, ttl TTL) { db.setCopy(key, val, ttl, true) }

// UpdateString is SetString for a command that has looked the key up, which is not used once more.
func (db *DB) UpdateString(key, val []byte, ttl TTL) { db.setCopy(key, val, ttl, false) }

// setCopy returns the key's slot; -1: the key is gone.
func (db *DB) setCopy(key, val []byte, ttl TTL, use bool) (slot int) {
	if ttl > 0 && !db.store.Takes(int64(ttl)) {
		if !db.Delete(key) {
			db.made(key) // and is gone again
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
	if was != 0 { // mostly a value replaces one of its size
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

// PutBuffer is SetString without a deadline, and takes over the bytes: no other code may hold them. They may
// be written to in place later, as those that SetRange has made.
func (db *DB) PutBuffer(key, val []byte) {
	db.setOwned(key, val, NoTTL, true)
	keys := db.space.keys
	slot := keys.Find(keys.Hash(key), key)
	v := keys.Mut(slot)
	was := v.size()
	v.setBuffer(&growable{b: val, stamp: db.store.values.Now()})
	db.space.charge(v.size() - was)
}

// SetText makes key, which was looked up, the string of a sum, keeping its deadline, as INCRBYFLOAT does:
// unlike SET it leaves an integer as its text.
func (db *DB) SetText(key, sum []byte) {
	db.UpdateString(key, sum, KeepTTL)
	if _, whole := decimal.ParseInt(sum); whole {
		keys := db.space.keys
		keys.Mut(keys.Find(keys.Hash(key), key)).retag(text)
	}
}

// SetInt makes key, which was looked up, the string of n and keeps its deadline: what INCR does.
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

// MakeRaw makes key's string one of the encoding "raw", as a command does that would have written into it,
// had the bits been others. Its value stays what it is.
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

// Append adds val to the end of key's string, which it makes if there is none, and returns the new length in
// bytes. Like Redis, a key that is made by it is kept as it would be by SET.
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

// SetRange overwrites key's string from offset on, filling a gap with zero bytes, and
// returns the new length in bytes.
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
