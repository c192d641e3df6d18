package store

import "lockserver/store/due"

// Aside returns an empty store of as many databases, for data that is to take the place of this store's when
// it is whole (Adopt). Nobody is told of what changes in it. It has the clock of cuts in common with this
// store, so that only the executor may touch it, too, and what it takes is not in this one's Used.
func (s *Store) Aside() *Store {
	a := &Store{nowMS: s.nowMS, nowUS: s.nowUS, seed: s.seed, limits: s.limits, epoch: s.epoch,
		hashes: s.hashes, sets: s.sets, zsets: s.zsets, soonestMS: due.Never, renewMS: due.Never}
	a.eviction.policy, a.eviction.lfu = s.eviction.policy, s.eviction.lfu // by which a use is noted
	a.fill(len(s.dbs))
	return a
}

// Adopt puts the data of a store that Aside has made in the place of this one's, in no time, and returns how
// many keys are gone. It is one change, which has no effect of its own: whoever keeps a journal begins it
// anew. a must not be used any more.
func (s *Store) Adopt(a *Store) (gone int) {
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
	s.soonestMS, s.fields, s.holds, s.remembered = a.soonestMS, a.fields, a.holds, a.remembered
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
