package store

import "lockserver/store/due"

// A replica removes no overdue key by itself: its master does. As in Redis, the exception are keys with
// deadlines from clients of a writable replica, because the master does not know these deadlines.

// OwnDeadlines are the deadlines from clients of a writable replica.
type OwnDeadlines struct{ store *Store }

// OwnDeadlines returns the door to these deadlines.
func (s *Store) OwnDeadlines() OwnDeadlines { return OwnDeadlines{s} }

// Remember decides whether the store remembers the keys that get deadlines from clients. Time is
// frozen for commands of the master, so the two must be distinguished.
func (o OwnDeadlines) Remember(on bool) {
	if o.store.ownDeadlines = on; on {
		return
	}
	o.store.own = due.Queue[timedKey]{}
	for _, db := range o.store.dbs {
		db.space.ownKeys = nil
	}
}

// addOwn remembers a key that is about to get a deadline from a client. A key that gets a deadline from the
// master is forgotten.
func (sp *space) addOwn(slot int, atMS int64) {
	name, _ := sp.keys.At(slot)
	it := sp.ownKeys[name]
	if sp.store.frozenTime || !sp.store.ownDeadlines || atMS == 0 {
		if it != nil {
			sp.store.own.Remove(it)
			delete(sp.ownKeys, it.Of.key)
		}
		return
	}
	if it == nil {
		key := string([]byte(name)) // the key's own bytes may go before
		it = &deadline{Of: timedKey{space: sp, key: key}}
		if sp.ownKeys == nil {
			sp.ownKeys = make(map[string]*deadline)
		}
		sp.ownKeys[key] = it
	}
	sp.store.own.Set(it, atMS)
}

// forgetOwn forgets all keys of a space that is dropped.
func (sp *space) forgetOwn() {
	for _, it := range sp.ownKeys {
		sp.store.own.Remove(it)
	}
	sp.ownKeys = nil
}

// NextMS is NextDeadlineMS for the keys that have their deadlines from clients of a writable replica.
func (o OwnDeadlines) NextMS() (int64, bool) {
	atMS, ok := o.store.own.NextMS()
	return atMS + 1, ok
}

// Expire is ExpireDue for the keys that have their deadlines from clients of a writable replica.
func (o OwnDeadlines) Expire(budget int) (more bool) {
	for budget > 0 {
		it := o.store.own.Pop(o.store.pastMS(), &budget)
		if it == nil {
			break
		}
		budget--
		sp, key := it.Of.space, it.Of.key
		delete(sp.ownKeys, key)
		if sp.db.space != sp { // emptied meanwhile
			continue
		}
		slot := sp.keys.FindString(sp.keys.HashString(key), key)
		if slot < 0 {
			continue
		}
		switch atMS := sp.keys.Side(slot); {
		case atMS == 0:
		case atMS > o.store.pastMS(): // it was put off
			sp.ownKeys[key] = it
			o.store.own.Set(it, atMS)
		default:
			sp.expireSlot(slot)
		}
	}
	return budget <= 0
}

// Len returns how many keys have deadlines that the store remembers because a client gave them.
func (o OwnDeadlines) Len() int { return o.store.own.Len() }
