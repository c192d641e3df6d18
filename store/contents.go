package store

import (
	"math"

	"lockserver/store/hash"
	"lockserver/store/stream"
)

// Fields of a hash may have deadlines of their own, which the hash keeps in order. The store's second queue
// has an entry for each such hash, at the deadline of its first field, so renaming or moving it costs
// nothing. A look-up removes the overdue fields of the hash that it finds, so they are never visible.
// ExpireDue removes the others.
//
// A stream remembers messages of its producers (XADD IDMP) for a limited time. The store has a queue with an
// item for each such stream, at the time of its first message. As with fields of hashes, renaming or moving a
// stream costs nothing. Forgetting a message is not a change of the data: clients that watch or follow the
// key are not notified.

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

// purge removes the overdue fields of the hash in a slot, and reports whether any fields are left. The number
// of fields is not bounded: each field is removed only once.
func (sp *space) purge(slot int) (left bool) {
	_, v := sp.keys.At(slot)
	if _, atMS, ok := v.hash().FirstDeadline(); !ok || atMS > sp.store.pastMS() {
		return true
	}
	budget := math.MaxInt
	return !sp.expireFields(slot, &budget)
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
		db.space.expireFields(keys.FindString(keys.HashString(d.Of.key), d.Of.key), budget)
	}
}

// expireFields removes overdue fields of the hash in a slot until the budget is used up. It reports whether
// the key was removed with its last field.
func (sp *space) expireFields(slot int, budget *int) (gone bool) {
	name, _ := sp.keys.At(slot)
	key := []byte(name)
	v := sp.own(slot, key)
	w := hash.EditOf(sp.store.hashes, key, v.hash())
	any := false
	for ; *budget > 0; *budget-- {
		field, atMS, ok := w.FirstDeadline()
		if !ok || atMS > sp.store.pastMS() {
			break
		}
		any = true
		b := []byte(field)
		if sp.tokens.Has(slot) && w.Has(shareField) {
			sp.db.leasesExpired++
			sp.endLock(slot, key, LockEnd{Field: b, Expired: true})
		}
		was, tally := w.Size(), without(w.Hash, b)
		w.Delete(b)
		if tally != nil {
			with(w.Hash, tally, nil, nil)
		}
		v.setHash(w.Hash)
		sp.charge(w.Size() - was)
		sp.store.stats.ExpiredFields++
		if w.Len() == 0 {
			sp.loseAt(sp.keys.Hash(key), slot, key)
			gone = true
			break
		}
		sp.store.recordMember(sp.db, "HDEL", key, b)
		sp.db.tellField(key, w.Hash, b)
	}
	if !gone {
		sp.watchFields(slot)
		sp.doubtRenewal(slot)
	}
	if any && sp.store.witness != nil {
		sp.store.witness.FieldsExpired(sp.db, key, gone)
	}
	return gone
}

// producersAlarm returns a stream's item in the queue, nil if it never had an item.
func producersAlarm(p *stream.Producers) *deadline {
	item, _ := p.Alarm().(*deadline)
	return item
}

// watchProducers puts s into the queue if it remembers any message. key is the keyspace's own copy.
func (sp *space) watchProducers(key string, s *stream.Stream) {
	p := s.Producers()
	if p == nil {
		return
	}
	endMS, ok := p.FirstEndMS()
	if !ok {
		sp.unwatchProducers(s)
		return
	}
	item := producersAlarm(p)
	if item == nil || !item.Queued() {
		item = &deadline{Of: timedKey{space: sp, key: key}}
		p.SetAlarm(item)
		sp.remembering++
	}
	sp.store.remembered.Set(item, endMS)
}

// unwatchProducers takes s out of the queue.
func (sp *space) unwatchProducers(s *stream.Stream) {
	if s.Producers() == nil {
		return
	}
	if item := producersAlarm(s.Producers()); item != nil && item.Queued() {
		sp.store.remembered.Remove(item)
		sp.remembering--
	}
}

// forgetDue forgets at most budget messages that are due, the earliest first.
func (s *Store) forgetDue(budget *int) {
	for *budget > 0 {
		d := s.remembered.Peek(s.pastMS(), budget)
		if d == nil {
			return
		}
		sp := d.Of.space
		slot := sp.keys.FindString(sp.keys.HashString(d.Of.key), d.Of.key)
		v := sp.own(slot, nil)
		p := v.stream().Producers()
		was := p.Size()
		for endMS, ok := p.FirstEndMS(); ok && endMS <= s.pastMS() && *budget > 0; endMS, ok = p.FirstEndMS() {
			p.ForgetFirst()
			*budget--
		}
		sp.charge(p.Size() - was)
		sp.watchProducers(d.Of.key, v.stream())
	}
}
