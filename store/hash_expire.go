package store

import (
	"strconv"

	"lockserver/store/hash"
)

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
