package store

import (
	"math"
	"slices"
	"strconv"

	"lockserver/store/hash"
)

// Fields of a hash may have deadlines of their own, which the hash keeps in order. The store's second queue
// has an entry for each such hash, at the deadline of its first field, so renaming or moving it costs
// nothing. A look-up removes the overdue fields of the hash that it finds, so they are never visible.
// ExpireDue removes the others.

// alarmOf returns a hash's item for the queue, nil if it has no item.
func alarmOf(h *hash.Hash) *deadline {
	item, _ := h.Alarm().(*deadline)
	return item
}

// watchFields puts the hash of a slot into the queue at the deadline of its first field, if a field has a
// deadline. A hash is quiet, and in no queue, if only one field has a deadline and the key expires no later
// than that field. Most locks with one shared holder are quiet.
func (sp *space) watchFields(slot int) {
	key, r := sp.entry(slot)
	h := r.Hash()
	_, atMS, ok := h.FirstDeadline()
	if !ok {
		sp.unwatchFields(h)
		return
	}
	item := alarmOf(h)
	if item == nil {
		if !h.Quiet() {
			sp.timedHashes++
		}
		quiet := h.Timed() == 1 && r.atMS != 0 && r.atMS <= atMS
		if h.SetQuiet(quiet); quiet {
			return
		}
		item = sp.spareAlarm(key)
		h.SetAlarm(item)
		sp.queuedHashes++
	}
	sp.store.fields.Set(item, atMS)
	beside := uint64(0)
	if n := h.Timed(); n > 1 && sp.tokens.Len() > 0 && h.Has(shareField) {
		beside = uint64(n - 1)
	}
	sp.sharers += int(beside) - int(item.Of.sharers)
	item.Of.sharers = beside
}

// spareAlarm returns an item for a key that is in no queue.
func (sp *space) spareAlarm(key string) (item *deadline) {
	spare := &sp.store.spareAlarms
	if n := len(*spare); n > 0 {
		item, *spare = (*spare)[n-1], (*spare)[:n-1]
	} else {
		item = &deadline{}
	}
	item.Of = timedKey{space: sp, key: key}
	return item
}

// unwatchFields takes h out of the queue. Its item is kept for the next hash: a lock that is shared for a
// moment needs an item only for that moment.
func (sp *space) unwatchFields(h *hash.Hash) {
	if h.Quiet() {
		h.SetQuiet(false)
		sp.timedHashes--
		return
	}
	item := alarmOf(h)
	if item == nil {
		return
	}
	h.SetAlarm(nil)
	sp.timedHashes--
	sp.store.fields.Remove(item)
	sp.queuedHashes--
	sp.sharers -= int(item.Of.sharers)
	if len(sp.store.spareAlarms) < mostSpareAlarms {
		item.Of = timedKey{}
		sp.store.spareAlarms = append(sp.store.spareAlarms, item)
	}
}

// mostSpareAlarms is how many items without a hash are kept.
const mostSpareAlarms = 64

// forget takes the value of a slot out of the queues, before it is removed or moves.
func (sp *space) forget(slot int) {
	_, v, atMS := sp.keys.Sided(slot)
	sp.dropDeadline(atMS)
	sp.unwatch(v)
}

// unwatch takes a value that is about to be removed out of the queues of fields and messages, and out of the
// count.
func (sp *space) unwatch(v *value) {
	switch v.tag() {
	case Hash:
		sp.unwatchFields(v.hash())
	case Stream:
		sp.unwatchProducers(v.stream())
	case Bloom:
		sp.blooms--
	}
}

// remember is the opposite of unwatch.
func (sp *space) remember(slot int) {
	switch key, v := sp.keys.At(slot); {
	case v.tag() == Hash && v.hash().Timed() > 0:
		sp.watchFields(slot)
	case v.tag() == Stream:
		sp.watchProducers(key, v.stream())
	}
}

// anyTimedHash reports whether a field of any hash has a deadline.
func (s *Store) anyTimedHash() bool {
	return slices.ContainsFunc(s.dbs, func(db *DB) bool { return db.space.timedHashes > 0 })
}

// Overdue reports whether the deadline of a field has passed, but the field is kept until the master removes
// it. It is never true on a master, which removes such fields.
func (db *DB) Overdue(h *hash.Hash, field []byte) bool {
	if !db.store.follows || h.Timed() == 0 {
		return false
	}
	at := h.Deadline(field)
	return at != 0 && db.store.Past(at)
}

// OverdueFields returns the number of overdue fields of a hash, which may be missing: see Overdue.
func (db *DB) OverdueFields(h *hash.Hash) (count int) {
	if !db.store.follows || h == nil || h.Timed() == 0 {
		return 0
	}
	h.EachTimed(func(_, _ []byte, atMS int64) bool {
		if atMS != 0 && db.store.Past(atMS) {
			count++
		}
		return true
	})
	return count
}

// purge removes the overdue fields of the hash in a slot, and reports whether any fields are left. The number
// of fields is not bounded: each field is removed only once.
func (db *DB) purge(slot int) (left bool) {
	_, v := db.space.keys.At(slot)
	if _, atMS, ok := v.hash().FirstDeadline(); !ok || atMS > db.store.pastMS() {
		return true
	}
	budget := math.MaxInt
	return !db.expireFields(slot, &budget)
}

// expireDueFields removes at most budget fields that are due, earliest first.
func (s *Store) expireDueFields(budget *int) {
	for *budget > 0 {
		d := s.fields.Peek(s.pastMS(), budget)
		if d == nil {
			return
		}
		db := d.Of.space.db
		keys := db.space.keys
		*budget-- // even if the fields have been put off meanwhile
		db.expireFields(keys.FindString(keys.HashString(d.Of.key), d.Of.key), budget)
	}
}

// expireFields removes overdue fields of the hash in a slot until the budget is used up. It reports whether
// the key was removed with its last field.
func (db *DB) expireFields(slot int, budget *int) (gone bool) {
	name, _ := db.space.keys.At(slot)
	key := []byte(name)
	v := db.space.own(slot, key)
	w := hash.EditOf(db.store.hashes, key, v.hash())
	any := false
	for ; *budget > 0; *budget-- {
		field, atMS, ok := w.FirstDeadline()
		if !ok || atMS > db.store.pastMS() {
			break
		}
		any = true
		b := []byte(field)
		if db.space.tokens.Has(slot) && w.Has(shareField) {
			db.leasesExpired++
			db.endLock(slot, key, LockEnd{Field: b, Expired: true})
		}
		was, tally := w.Size(), without(w.Hash, b)
		w.Delete(b)
		if tally != nil {
			with(w.Hash, tally, nil, nil)
		}
		v.setHash(w.Hash)
		db.space.charge(w.Size() - was)
		db.store.stats.ExpiredFields++
		if w.Len() == 0 {
			db.loseAt(db.space.keys.Hash(key), slot, key)
			gone = true
			break
		}
		db.store.recordMember(db, "HDEL", key, b)
		db.tellField(key, w.Hash, b)
	}
	if !gone {
		db.space.watchFields(slot)
		db.space.doubtRenewal(slot)
	}
	if any && db.store.witness != nil {
		db.store.witness.FieldsExpired(db, key, gone)
	}
	return gone
}

// AllowDeadlines gives the hash the form in which its fields may have deadlines. As in Redis, this happens
// before it is known whether any field gets a deadline. There must be a hash.
func (e *HashEdit) AllowDeadlines() {
	was, size := e.Hash(), e.w.Size()
	e.w.AllowDeadlines()
	e.changed(was, size)
}

// ExpireField gives a field the deadline atMS (milliseconds since 1970), or removes it if atMS has passed. It
// reports whether the field is removed. The field must exist.
func (e *HashEdit) ExpireField(field []byte, atMS int64) (gone bool) {
	if !e.db.store.Takes(atMS) {
		return e.Delete(field)
	}
	e.setFieldDeadline(field, atMS)
	return false
}

// HoldUntil is ExpireField for a lease, which may still begin in the millisecond of its deadline.
func (e *HashEdit) HoldUntil(field []byte, atMS int64) (gone bool) {
	if e.db.store.Past(atMS) {
		return e.Delete(field)
	}
	e.setFieldDeadline(field, atMS)
	return false
}

func (e *HashEdit) setFieldDeadline(field []byte, atMS int64) {
	was, size := e.Hash(), e.w.Size()
	e.w.SetDeadlineIn(field, max(atMS, 1), &e.db.store.spareTimes)
	e.changed(was, size)
	e.rewatch()
	e.recordDeadline(field, atMS)
	e.fieldChanged(field)
}

// SetMixed records that a client wrote a field with a deadline, or gave a field its deadline. In a lock such
// a field may be no holder.
func (e *HashEdit) SetMixed() {
	if e.w.Hash != nil {
		e.w.SetMixed()
	}
}

// PlaceField moves a field of a small hash to the position that it has in Redis after a client has changed
// its deadline. It does nothing in a lock or a semaphore, where the fields have an order of their own.
func (e *HashEdit) PlaceField(field []byte) {
	for _, own := range ownFields {
		if e.w.Has(own) {
			return
		}
	}
	e.w.Place(field)
}

// ownFields are the fields that each lock with shared holders, and each semaphore, may have besides its
// holders.
var ownFields = [][]byte{[]byte(TokenField), []byte(ShareField), []byte(LimitField)}

// PersistField removes a field's deadline and reports whether there was one.
func (e *HashEdit) PersistField(field []byte) bool {
	if e.Hash() == nil {
		return false
	}
	was, size := e.w.Hash, e.w.Size()
	if !e.w.Persist(field) {
		return false
	}
	e.changed(was, size)
	e.rewatch()
	e.PlaceField(field)
	e.db.store.recordFields(e.db, []string{"HPERSIST", string(e.key), "FIELDS"}, field)
	e.fieldChanged(field)
	return true
}

// rewatch updates the queue after a change of a field's deadline.
func (e *HashEdit) rewatch() {
	e.db.space.watchFields(e.slot)
	e.db.space.doubtRenewal(e.slot)
}

func (e *HashEdit) recordDeadline(field []byte, atMS int64) {
	if e.db.store.effects != nil {
		e.db.store.recordFields(e.db, []string{"HPEXPIREAT", string(e.key), strconv.FormatInt(atMS, 10), "FIELDS"}, field)
	}
}

// recordFields records an effect on one field, "head... 1 field". It joins the previous effect if that
// differs only in its fields.
func (s *Store) recordFields(db *DB, head []string, field []byte) {
	if s.effects == nil {
		return
	}
	if n := len(s.effects.effects); n > 0 {
		if last := &s.effects.effects[n-1]; last.DB == db.id && len(last.Args) < maxMerged && hasHead(last.Args, head) {
			last.Args = append(last.Args, append([]byte(nil), field...))
			last.Args[len(head)] = appendInt(nil, int64(len(last.Args)-len(head)-1))
			return
		}
	}
	args := make([][]byte, 0, len(head)+2)
	for _, word := range head[1:] {
		args = append(args, []byte(word))
	}
	s.effects.add(db.id, head[0], false, append(args, []byte("1"), field)...)
}

func hasHead(args [][]byte, head []string) bool {
	if len(args) < len(head)+2 {
		return false
	}
	for i, word := range head {
		if string(args[i]) != word {
			return false
		}
	}
	return true
}
