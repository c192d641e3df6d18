package commands

import (
	"lockserver/internal/waiting"
	"lockserver/store"
)

// What the queues of the waiters (package waiting) ask about locks. They know units: an exclusive hold has
// all units of a lock, and a shared one has one.

// units is how many units of each lock a call wants.
func (l *lockCall) units() int32 {
	if l.shared {
		return 1
	}
	return waiting.All
}

// units is how many units a holder has.
func (h *Holder) units() int32 {
	if h.Exclusive > 0 {
		return waiting.All
	}
	return int32(min(h.Shared, 1))
}

// QueuedLocks tells the queues of the locks in a store.
func QueuedLocks(s *store.Store) waiting.Locks {
	return waiting.Locks{
		Find: func(db int, key string) waiting.Lock {
			l, err := FindLock(s.DB(db), []byte(key))
			switch {
			case err != nil:
				return waiting.Lock{}
			case l.Shares > 0:
				return waiting.Lock{Holders: l.Shares, Limit: waiting.All}
			}
			return waiting.Lock{Owner: l.Owner}
		},
		Held: func(db int, key, owner string) int32 {
			h, _ := HolderOf(s.DB(db).Peek([]byte(key)), []byte(owner))
			return h.units()
		},
		EachHolder: func(db int, key string, visit func(owner []byte, units int32) bool) {
			EachHolder(s.DB(db).Peek([]byte(key)), func(h Holder) bool { return visit(h.Owner, h.units()) })
		},
		Kind: func(db int, key string) uint8 { return uint8(s.DB(db).Peek([]byte(key)).Kind()) },
	}
}
