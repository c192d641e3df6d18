package store

import (
	"math"
	"strconv"

	"lockserver/store/hash"
)

// Fields of a hash may have deadlines of their own, which the hash keeps in order. In the store's second
// queue a hash stands for its first field, so renaming or moving it costs nothing. A look-up removes the
// overdue fields of the hash that it finds, so nobody ever sees one; what nobody looks up, ExpireDue removes.

// alarmOf returns a hash's item in the queue, nil if it never had one.
func alarmOf(h *hash.Hash) *deadline {
	item, _ := h.Alarm().(*deadline)
	return item
}

// watchFields makes h stand in the queue for its first field, if it has any with a
// deadline. key is the keyspace's own.
func (sp *space) watchFields(key string, h *hash.Hash) {
	_, atMS, ok := h.FirstDeadline()
	if !ok {
		sp.unwatchFields(h)
		return
	}
	item := alarmOf(h)
	if item == nil || !item.Queued() {
		item = &deadline{Of: timedKey{space: sp, key: key}}
		h.SetAlarm(item)
		sp.timedHashes++
	}
	sp.store.fields.Set(item, atMS)
}

// unwatchFields takes h out of the queue.
func (sp *space) unwatchFields(h *hash.Hash) {
	if item := alarmOf(h); item != nil && item.Queued() {
		sp.store.fields.Remove(item)
		sp.timedHashes--
	}
}

// forget takes a value that is about to go, or to move, out of the queues.
func (sp *space) forget(v *value) {
	sp.dropDeadline(v)
	sp.unwatch(v)
}

// unwatch takes a value that is about to go out of the queues of fields and messages.
func (sp *space) unwatch(v *value) {
	switch v.tag() {
	case Hash:
		sp.unwatchFields(v.hash())
	case Stream:
		sp.unwatchProducers(v.stream())
	}
}

// remember is the opposite of unwatch.
func (sp *space) remember(key string, v *value) {
	switch {
	case v.tag() == Hash && v.hash().Timed() > 0:
		sp.watchFields(key, v.hash())
	case v.tag() == Stream:
		sp.watchProducers(key, v.stream())
	}
}

// fieldsDue reports whether any hash of the store may have an overdue field.
func (s *Store) fieldsDue() bool {
	atMS, ok := s.fields.NextMS()
	return ok && atMS <= s.nowMS && !s.frozenTime
}

// purge removes the overdue fields of the hash in a slot, and returns the slot, or -1 if that was all of it.
// It does so without a bound: each field is removed once.
func (db *DB) purge(slot int) int {
	_, v := db.space.keys.At(slot)
	if _, atMS, ok := v.hash().FirstDeadline(); !ok || atMS > db.store.nowMS {
		return slot
	}
	budget := math.MaxInt
	if db.expireFields(slot, &budget) {
		return -1
	}
	return slot
}

// expireDueFields removes at most budget fields whose time has come, earliest first.
func (s *Store) expireDueFields(budget *int) {
	for *budget > 0 {
		d := s.fields.Peek(s.nowMS, budget)
		if d == nil {
			return
		}
		db := d.Of.space.db
		keys := db.space.keys
		*budget-- // even if the fields have been put off meanwhile
		db.expireFields(keys.FindString(keys.HashString(d.Of.key), d.Of.key), budget)
	}
}

// expireFields removes overdue fields of the hash in a slot until the budget is used up, and reports
// whether the key went with its last field.
func (db *DB) expireFields(slot int, budget *int) (gone bool) {
	name, _ := db.space.keys.At(slot)
	key := []byte(name)
	v := db.space.keys.Mut(slot)
	v.own(db.store)
	h := v.hash()
	any := false
	for ; *budget > 0; *budget-- {
		field, atMS, ok := h.FirstDeadline()
		if !ok || atMS > db.store.nowMS {
			break
		}
		any = true
		b := []byte(field)
		was := h.Size()
		h.Delete(b)
		db.space.charge(h.Size() - was)
		db.store.stats.ExpiredFields++
		if h.Len() == 0 {
			db.loseAt(db.space.keys.Hash(key), slot, key)
			gone = true
			break
		}
		db.store.recordMember(db, "HDEL", key, b)
		db.tell(key)
	}
	if !gone {
		db.space.watchFields(name, h)
	}
	if any && db.store.witness != nil {
		db.store.witness.FieldsExpired(db, key, gone)
	}
	return gone
}

// AllowDeadlines gives the hash the form in which its fields may have deadlines, as Redis does before it
// looks whether any of them is given one. There must be a hash.
func (e *HashEdit) AllowDeadlines() {
	was := e.h.Size()
	e.h.AllowDeadlines()
	e.charge(was)
}

// ExpireField makes a field die at atMS (milliseconds since 1970), at once if that is past, and says whether
// it is gone now. There must be such a field.
func (e *HashEdit) ExpireField(field []byte, atMS int64) (gone bool) {
	if atMS <= e.db.store.nowMS && !e.db.store.frozenTime {
		return e.Delete(field)
	}
	was := e.h.Size()
	e.h.SetDeadline(field, max(atMS, 1))
	e.charge(was)
	e.rewatch()
	e.recordDeadline(field, atMS)
	e.db.changed(e.key)
	return false
}

// PersistField takes a field's deadline away and says whether it had one.
func (e *HashEdit) PersistField(field []byte) bool {
	if e.h == nil {
		return false
	}
	was := e.h.Size()
	if !e.h.Persist(field) {
		return false
	}
	e.charge(was)
	e.rewatch()
	e.db.store.recordFields(e.db, []string{"HPERSIST", string(e.key), "FIELDS"}, field)
	e.db.changed(e.key)
	return true
}

// rewatch follows a change of a field's deadline.
func (e *HashEdit) rewatch() {
	name, _ := e.db.space.keys.At(e.slot)
	e.db.space.watchFields(name, e.h)
}

func (e *HashEdit) recordDeadline(field []byte, atMS int64) {
	if e.db.store.effects != nil {
		e.db.store.recordFields(e.db, []string{"HPEXPIREAT", string(e.key), strconv.FormatInt(atMS, 10), "FIELDS"}, field)
	}
}

// recordFields notes an effect on one field, "head... 1 field", and joins it to the one before when
// that differs in its fields only.
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
