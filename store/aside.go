package store

import "lockserver/store/due"

// Aside returns an empty store with as many databases. It is for data that will replace this store's data
// once it is complete (Adopt). Observers do not see changes of it. It shares the clock of cuts with this
// store, so only the executor may touch it. Its memory is not part of this store's Used.
func (s *Store) Aside() *Store {
	a := &Store{nowMS: s.nowMS, nowUS: s.nowUS, seed: s.seed, epoch: s.epoch, containers: s.containers, soonestMS: due.Never, renewMS: due.Never}
	a.eviction.store = a
	a.eviction.policy, a.eviction.lfu = s.eviction.policy, s.eviction.lfu // the form of the access field
	a.fill(len(s.dbs))
	return a
}

// Adopt replaces the data of this store by the data of a store that Aside has made. It takes constant time
// and returns the number of removed keys. It is one change, which has no effect of its own, so a journal must
// begin anew. Do not use a afterwards.
func (s *Store) Adopt(a *Store) (gone int) {
	s.cannotUndo()
	used := 0
	if s.apart != nil {
		used = s.apart.space.used
	}
	for id, db := range s.dbs {
		gone += db.Len()
		db.space.stopRenewals()
		fresh := a.dbs[id].space
		fresh.store = s
		db.attach(fresh)
	}
	s.soonestMS, s.fields, s.alarms, s.remembered = a.soonestMS, a.fields, a.alarms, a.remembered
	s.used = a.used + used
	s.highestToken = max(s.highestToken, a.highestToken)
	s.eviction.pool = nil
	s.dirty++
	if s.observer != nil {
		for id := range s.dbs {
			s.observer.DatabaseChanged(id)
		}
	}
	return gone
}

// Absorb moves up to most keys of a store that Aside has made to this store, and returns the number of keys
// that are left there. A key keeps its value and its deadline, which may have passed, and replaces the
// key of that name here. It is a change of the key without an effect, so a journal must begin anew.
func (s *Store) Absorb(a *Store, most int) (left int) {
	s.cannotUndo()
	for id, from := range a.dbs {
		for ; most > 0 && from.space.keys.Len() > 0; most-- {
			name, _ := from.space.keys.At(from.space.keys.Len() - 1) // to take the last key moves no other key
			key, to := []byte(name), s.dbs[id]
			v, atMS := from.space.take(key)
			to.space.displace(key)
			to.space.place(key, v, atMS)
			to.changed(key)
		}
		left += from.space.keys.Len()
	}
	s.highestToken = max(s.highestToken, a.highestToken)
	return left
}
