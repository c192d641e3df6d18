package store

import "lockserver/store/due"

// A replica removes no overdue key by itself: its master does. As in Redis, the exception are keys with
// deadlines from clients of a writable replica, because the master does not know these deadlines.

// SetOwnDeadlines decides whether the store remembers the keys that get deadlines from clients. Time is
// frozen for commands of the master, so the two must be distinguished.
func (s *Store) SetOwnDeadlines(on bool) {
	if s.ownDeadlines = on; on {
		return
	}
	s.own = due.Queue[timedKey]{}
	for _, db := range s.dbs {
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

// NextOwnMS is NextDeadlineMS for the keys that have their deadlines from clients of a writable replica.
func (s *Store) NextOwnMS() (int64, bool) {
	atMS, ok := s.own.NextMS()
	return atMS + 1, ok
}

// ExpireOwn is ExpireDue for the keys that have their deadlines from clients of a writable replica.
func (s *Store) ExpireOwn(budget int) (more bool) {
	for budget > 0 {
		it := s.own.Pop(s.pastMS(), &budget)
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
		case atMS > s.pastMS(): // it was put off
			sp.ownKeys[key] = it
			s.own.Set(it, atMS)
		default:
			sp.db.expireSlot(slot)
		}
	}
	return budget <= 0
}

// OwnKeys returns how many keys have deadlines that the store remembers because a client gave them.
func (s *Store) OwnKeys() int { return s.own.Len() }
