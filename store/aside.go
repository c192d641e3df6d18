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
