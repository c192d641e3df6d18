package store

import (
	"lockserver/store/dict"
	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
)

// OpenHash is EditHash for a caller that knows nothing of the key yet, and saves it a look-up. ok is false if
// the key holds a value that is not a hash.
func (db *DB) OpenHash(key []byte) (e HashEdit, ok bool) {
	v, slot, ok := db.open(key, Hash)
	if !ok {
		return e, false
	}
	e = HashEdit{db: db, key: key, slot: slot, w: hash.EditOf(db.store.hashes, key, nil)}
	if v != nil {
		e.w.Hash = v.hash()
	}
	return e, true
}

// OpenSet is OpenHash for sets.
func (db *DB) OpenSet(key []byte) (e SetEdit, ok bool) {
	v, slot, ok := db.open(key, Set)
	if !ok {
		return e, false
	}
	e = SetEdit{db: db, key: key, slot: slot, w: set.EditOf(db.store.sets, key, nil)}
	if v != nil {
		e.w.Set = v.set()
	}
	return e, true
}

// OpenList is OpenHash for lists.
func (db *DB) OpenList(key []byte) (e ListEdit, ok bool) {
	v, slot, ok := db.open(key, List)
	if !ok {
		return e, false
	}
	e = ListEdit{db: db, key: key, slot: slot, w: list.EditOf(db.store.epoch, key, nil)}
	if v != nil {
		e.w.List = v.list()
	}
	return e, true
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

// open makes key's value of kind k writable; nil if there is no such key, false if it is of another kind. It
// is a use of the key, but does not count as a hit or a miss, which are for commands that read.
func (db *DB) open(key []byte, k Kind) (v *value, slot int, ok bool) {
	slot = db.find(key)
	if slot < 0 {
		return nil, slot, true
	}
	if _, v = db.space.keys.At(slot); v.kind() != k {
		db.store.touch(v) // a refused write is a use of the key, too
		return nil, slot, false
	}
	v = db.space.own(slot, key)
	db.store.touch(v)
	return v, slot, true
}

// own returns the value of a slot for writing, its container included. The slot's key is key.
func (sp *space) own(slot int, key []byte) *value {
	v := sp.keys.Mut(slot)
	was := v.ptr
	if v.own(sp.store, key); v.ptr != was {
		if name := v.name(); name != nil {
			sp.keys.Rekey(slot, name)
		}
	}
	return v
}

// moved puts a container that has taken another piece of memory, or a header, back to its key. slot is where
// that probably is, and then where it is.
func (sp *space) moved(slot *int, key []byte, to value) {
	v := sp.valueAt(slot, key)
	v.ptr, v.meta = to.ptr, to.meta
	sp.rekey(*slot, key, v)
}

// rekey points the slot's key to the name in its container, or else to memory of its own, never to the
// container's old piece.
func (sp *space) rekey(slot int, key []byte, v *value) {
	name := v.name()
	if name == nil {
		name = dict.NewKey(key)
	}
	sp.keys.Rekey(slot, name)
}

// valueAt returns the value of a key for writing; nil: it is not there. slot is where it probably is, and
// then where it is: a container that is written to through an edit may have moved, and so may its key.
func (sp *space) valueAt(slot *int, key []byte) *value {
	if !sp.keys.Holds(*slot, key) {
		if *slot = sp.keys.Find(sp.keys.Hash(key), key); *slot < 0 {
			return nil
		}
	}
	return sp.keys.Mut(*slot)
}
