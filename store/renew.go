package store

import (
	"slices"

	"lockserver/store/due"
	"lockserver/store/renewals"
)

// Renewals are for keys with a deadline that the server extends again and again, such as locks. The store
// knows the keys, their keepers and the next times. The caller decides what to do at that time. A renewal is
// stored by the key's slot (package renewals): it follows RENAME, MOVE and SWAPDB, and ends with the key. If
// another hash replaces the value (COPY, RESTORE), the renewal stays in doubt: the caller checks whether it
// is the same lock. Renewals are not data: they are in no snapshot and no log.

// Renew gives a live key a renewal, or changes its renewal. It does nothing if there is no such key.
func (db *DB) Renew(key []byte, r renewals.Renewal) {
	if slot := db.find(key); slot >= 0 {
		db.space.renew(slot, r)
	}
}

// renew is Renew for a key with a known slot. A hash with deadlines of fields is always in doubt.
func (sp *space) renew(slot int, r renewals.Renewal) {
	if _, v := sp.keys.At(slot); v.tag() != Hash || v.hash().Timed() > 0 {
		r.Doubted = true
	}
	if sp.renewals.Set(slot, r) {
		sp.charge(renewals.Bytes)
	}
	sp.store.renewMS = min(sp.store.renewMS, r.AtMS)
}

// Renewal returns the renewal of a key; false if the key has no renewal or does not exist. It changes
// nothing, not even an overdue key.
func (db *DB) Renewal(key []byte) (r renewals.Renewal, ok bool) {
	if slot := db.space.renewedAt(key); slot >= 0 {
		return db.space.renewals.Of(slot)
	}
	return r, false
}

// renewedAt returns the slot of a key that may be renewed, or -1.
func (sp *space) renewedAt(key []byte) int {
	keys := sp.keys
	switch {
	case sp.renewals.Len() == 0:
		return -1
	case keys.Holds(sp.recent, key):
		return sp.recent
	}
	return keys.Find(keys.Hash(key), key)
}

// StopRenewing removes the renewal of a key.
func (db *DB) StopRenewing(key []byte) {
	if slot := db.space.renewedAt(key); slot >= 0 {
		db.space.stopRenewing(slot)
	}
}

func (sp *space) stopRenewing(slot int) {
	if sp.renewals.Remove(slot) {
		sp.charge(-renewals.Bytes)
	}
}

// Len returns the number of keys with a renewal.
func (rs Renewals) Len() (n int) {
	for _, db := range rs.store.dbs {
		n += db.space.renewals.Len()
	}
	return n
}

// Each visits all keys with a renewal. visit may not change the store.
func (rs Renewals) Each(visit func(db *DB, key string, r renewals.Renewal)) {
	for _, db := range rs.store.dbs {
		db.space.renewals.Each(func(slot int, r renewals.Renewal) {
			key, _ := db.space.keys.At(slot)
			visit(db, key, r)
		})
	}
}

// StopAll removes all renewals.
func (rs Renewals) StopAll() {
	for _, db := range rs.store.dbs {
		db.space.stopRenewals()
	}
	rs.store.renewMS = due.Never
}

// EachOf visits the keys with a renewal by a keeper, at most so many. visit may not change the store.
func (rs Renewals) EachOf(k *renewals.Keeper, most int, visit func(db *DB, key string, r renewals.Renewal)) {
	if k.Len() == 0 {
		return
	}
	for _, db := range rs.store.dbs {
		most -= db.space.renewals.EachOf(k, most, func(slot int, r renewals.Renewal) {
			key, _ := db.space.keys.At(slot)
			visit(db, key, r)
		})
	}
}

// Leave ends the renewals of a keeper, at most so many, in the order of EachOf. The renewals for which stays
// returns true are kept, without a keeper.
func (rs Renewals) Leave(k *renewals.Keeper, most int, stays func(db *DB, of Ref, r renewals.Renewal) bool) {
	if k.Len() == 0 {
		return
	}
	for _, db := range rs.store.dbs {
		sp := db.space
		most -= sp.renewals.EachOf(k, most, func(slot int, r renewals.Renewal) {
			if !stays(db, sp.refAt(slot), r) {
				sp.stopRenewing(slot)
				return
			}
			r.Keeper = nil
			sp.renewals.Set(slot, r)
		})
	}
}

// Due is a key with a renewal that is due. It is valid until RenewDue continues.
type Due struct {
	DB      *DB
	Renewal renewals.Renewal
	slot    int
}

// Key returns the key.
func (d *Due) Key() string {
	key, _ := d.DB.space.keys.At(d.slot)
	return key
}

// Ref returns the value to read.
func (d *Due) Ref() Ref { return d.DB.space.refAt(d.slot) }

// RenewedKey returns the key for later use.
func (d *Due) RenewedKey() RenewedKey { return RenewedKey{d.DB, d.Key(), d.Renewal} }

// Extend sets the key's deadline to endMS, if it has an earlier deadline, and reports whether it did. That
// counts as a use of the key.
func (d *Due) Extend(endMS int64) bool {
	db := d.DB
	name, v, atMS := db.space.keys.Sided(d.slot)
	db.store.touch(v)
	if atMS == 0 || atMS >= endMS {
		return false
	}
	if !d.Renewal.Doubted && db.store.effects == nil && db.store.observer == nil { // as expireAt, with less to look at
		db.space.postpone(d.slot, atMS, endMS)
		db.store.dirty++
		return true
	}
	db.space.expireAt(d.slot, []byte(name), endMS)
	return true
}

// DueRenewals selects the renewals that RenewDue processes.
type DueRenewals struct {
	// DueMS is the time up to which renewals are due. If there are any, the renewals up to TogetherMS are
	// processed with them.
	DueMS, TogetherMS int64
	// InTime renews a key that has expired by now, but had not when its renewal was due.
	InTime bool
}

// RenewDue processes the due renewals of some keys in adjacent slots. visit returns the next time in
// milliseconds since 1970, or 0 to end the renewal. visit may change the store only by Extend. An expired key
// is not renewed. RenewDue returns the number of keys, and false if nothing is due.
func (rs Renewals) RenewDue(of DueRenewals, visit func(d *Due) (nextMS int64)) (worked int, ok bool) {
	if rs.store.renewMS > of.DueMS {
		return 0, false
	}
	var first *space
	rs.store.renewMS = due.Never
	for _, db := range rs.store.dbs {
		if atMS := db.space.renewals.FirstMS(); atMS < rs.store.renewMS {
			first, rs.store.renewMS = db.space, atMS
		}
	}
	if rs.store.renewMS > of.DueMS || first == nil {
		return 0, false
	}
	d := Due{DB: first.db}
	was := first.renewals.Len()
	worked, ok = first.renewals.First(of.DueMS, of.TogetherMS, func(slot int, r renewals.Renewal) int64 {
		asOfMS := rs.store.nowMS
		if of.InTime {
			asOfMS = r.AtMS
		}
		if atMS := first.keys.Side(slot); atMS != 0 && atMS < asOfMS && !rs.store.frozenTime {
			return 0
		}
		d.slot, d.Renewal = slot, r
		return visit(&d)
	})
	first.charge(renewals.Bytes * (first.renewals.Len() - was))
	return worked, ok
}

// lift removes and returns the renewal of a key that is about to move or to hold another value.
func (sp *space) lift(key []byte) (r renewals.Renewal, ok bool) {
	slot := sp.renewedAt(key)
	if slot < 0 {
		return r, false
	}
	if r, ok = sp.renewals.Of(slot); ok {
		sp.stopRenewing(slot)
	}
	return r, ok
}

// lay is the opposite of lift.
func (sp *space) lay(key []byte, r renewals.Renewal) {
	keys := sp.keys
	if slot := keys.Find(keys.Hash(key), key); slot >= 0 {
		sp.renew(slot, r)
	}
}

// layAgain is lay after another value has replaced the key's value. Renewals are for locks, so it does
// nothing if the new value is no hash.
func (sp *space) layAgain(key []byte, r renewals.Renewal) {
	keys := sp.keys
	slot := keys.Find(keys.Hash(key), key)
	if slot < 0 {
		return
	}
	if _, v := keys.At(slot); v.tag() == Hash {
		r.Doubted = true
		sp.renew(slot, r)
	}
}

// RenewedKey is a key that had a renewal when it was recorded.
type RenewedKey struct {
	DB      *DB
	Key     string
	Renewal renewals.Renewal
}

// All returns the keys with a renewal, before all data are loaded anew.
func (rs Renewals) All() (kept []RenewedKey) {
	kept = slices.Grow(kept, rs.Len())
	rs.Each(func(db *DB, key string, r renewals.Renewal) { kept = append(kept, RenewedKey{db, key, r}) })
	return kept
}

// Restore gives their renewals again to those of the keys that exist.
func (rs Renewals) Restore(kept []RenewedKey) {
	for _, k := range kept {
		key := []byte(k.Key)
		if _, ok := k.DB.Renewal(key); !ok {
			k.DB.space.layAgain(key, k.Renewal)
		}
	}
}
