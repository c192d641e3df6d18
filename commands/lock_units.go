package commands

import (
	"lockserver/internal/waiting"
	"lockserver/store"
)

// This file answers what the queues of waiters (package waiting) ask about locks. They count in units: an
// exclusive hold has all units of a lock, a shared hold has one, and a holder of a semaphore has one for each
// permit.

// units returns how many units of each lock a call wants.
func (l *lockCall) units() int32 {
	if l.shared {
		return 1
	}
	return waiting.All
}

// units returns how many units a holder has.
func (h *Holder) units(semaphore bool) int32 {
	switch {
	case h.Exclusive > 0:
		return waiting.All
	case semaphore:
		return int32(min(h.Shared, waiting.All-1))
	}
	return int32(min(h.Shared, 1))
}

// isSemaphore reports whether a hash has the layout of a semaphore.
func isSemaphore(r store.LiveRef) bool {
	mode, _ := r.Hash().Get(nil, shareField)
	return string(mode) == store.SemaphoreMode
}

// QueuedLocks returns what the queues need to know of the locks in a store.
func QueuedLocks(s *store.Store) waiting.Locks {
	return waiting.Locks{
		Find: func(db int, key string) waiting.Lock {
			l, err := FindLock(s.DB(db), []byte(key))
			switch {
			case err != nil:
				return waiting.Lock{}
			case l.Limit > 0:
				return waiting.Lock{Holders: l.Shares, Limit: int32(l.Limit)}
			case l.Shares > 0:
				return waiting.Lock{Holders: l.Shares, Limit: waiting.All}
			}
			return waiting.Lock{Owner: l.Owner}
		},
		Held: func(db int, key, owner string) int32 {
			r := s.DB(db).PeekLive([]byte(key))
			h, ok := HolderOf(r, []byte(owner))
			return h.units(ok && isSemaphore(r))
		},
		EachHolder: func(db int, key string, visit func(owner []byte, units int32) bool) {
			r := s.DB(db).PeekLive([]byte(key))
			semaphore := r.Hash() != nil && isSemaphore(r)
			EachHolder(r, func(h Holder) bool { return visit(h.Owner, h.units(semaphore)) })
		},
		Kind: func(db int, key string) uint8 { return uint8(s.DB(db).Peek([]byte(key)).Kind()) },
	}
}
