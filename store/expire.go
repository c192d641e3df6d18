package store

import (
	"math/bits"

	"lockserver/store/due"
)

// The deadline of a key, in milliseconds since 1970, is stored beside its slot (dict.Side; 0: no deadline).
// The earliest deadline is found by a bound for each group of 64 slots (due.Bounds): no key of the group
// expires before the bound. So changing a deadline, or removing a key, mostly writes nothing else. See
// decision 0004.

// boundBits: 64 slots share one bound. A chunk of the dict, one piece of memory, has about as many.
const boundBits = 6

// deadline is an item of one of the store's queues. A queue orders keys by the time at which something falls
// due.
type deadline = due.Item[timedKey]

// timedKey is a key to which something happens at a time.
type timedKey struct {
	space   *space
	key     string
	sharers uint64 // in the queue of fields: the number of holders of the lock besides its first holder
}

// NextDeadlineMS returns a time, in milliseconds since 1970. Before it no key and no field of a hash expires
// and no stream forgets a message. The result is false if nothing ever expires. The time is later than the
// deadline: see Past.
func (s *Store) NextDeadlineMS() (int64, bool) {
	atMS, ok := s.soonestMS, s.soonestMS != due.Never
	if fieldMS, has := s.fields.NextMS(); has && (!ok || fieldMS < atMS) {
		atMS, ok = fieldMS, true
	}
	if messageMS, has := s.remembered.NextMS(); has && (!ok || messageMS < atMS) {
		atMS, ok = messageMS, true
	}
	return atMS + 1, ok
}

// NextMS returns a time, in milliseconds since 1970, before which no renewal falls due. The result is
// false if no renewal ever falls due.
func (rs Renewals) NextMS() (int64, bool) { return rs.store.renewMS, rs.store.renewMS != due.Never }

// NextAlarmMS returns a time, in milliseconds since 1970. Before it no member of a set of this kind falls
// due. The result is false if no member ever falls due.
func (s *Store) NextAlarmMS(kind Alarm) (int64, bool) { return s.alarms[kind].NextMS() }

// AlarmDue reports whether a member of a set of this kind may be due.
func (s *Store) AlarmDue(kind Alarm) bool {
	atMS, ok := s.alarms[kind].NextMS()
	return ok && atMS <= s.nowMS && !s.frozenTime
}

// ExpireDue removes at most budget keys that are due, earliest first. Then it removes fields of hashes and
// messages of streams that are due. It reports whether there may be more.
func (s *Store) ExpireDue(budget int) (more bool) {
	for budget > 0 && s.soonestMS <= s.pastMS() {
		sp, atMS := s.soonest(func(sp *space) *due.Bounds { return &sp.bounds })
		if s.soonestMS = atMS; atMS <= s.pastMS() {
			budget -= sp.expireFirst(budget)
		}
	}
	s.expireDueFields(&budget)
	s.forgetDue(&budget)
	return budget == 0
}

// soonest returns the space with the least of some bounds, and that bound.
func (s *Store) soonest(of func(sp *space) *due.Bounds) (first *space, atMS int64) {
	atMS = due.Never
	for _, db := range s.dbs {
		if boundMS := of(db.space).FirstMS(); boundMS < atMS {
			first, atMS = db.space, boundMS
		}
	}
	return first, atMS
}

// expireFirst looks through the slots with the least bound, which has passed. It removes the keys that expire
// at the bound, at most budget keys. It returns the cost: one for each key, and at least one.
func (sp *space) expireFirst(budget int) (cost int) {
	group, boundMS := sp.bounds.First()
	var dying [1 << boundBits]int
	n, nextMS := 0, int64(due.Never)
	for slot := min((group+1)<<boundBits, sp.keys.Len()) - 1; slot >= group<<boundBits; slot-- {
		switch atMS := sp.keys.Side(slot); {
		case atMS == 0:
		case atMS <= boundMS && n < budget:
			dying[n] = slot
			n++
		default:
			nextMS = min(nextMS, max(atMS, boundMS))
		}
	}
	sp.bounds.Raise(group, nextMS)
	for _, slot := range dying[:n] { // from the last key on: the last key of the space takes the slot of each removed key
		sp.expireSlot(slot)
	}
	return max(n, 1)
}

// setDeadline sets the deadline of the key of a slot; 0 removes the deadline.
func (sp *space) setDeadline(slot int, atMS int64) {
	if sp.ownKeys != nil || sp.store.ownDeadlines {
		sp.addOwn(slot, atMS)
	}
	wasMS := sp.keys.Side(slot)
	if wasMS == atMS {
		return
	}
	sp.before(slot)
	switch {
	case wasMS > 0 && wasMS < atMS && !sp.quiet(slot):
		sp.postpone(slot, wasMS, atMS)
		return
	}
	sp.dropDeadline(wasMS)
	if atMS == 0 {
		sp.setLockRecord(slot, 0)
	} else {
		sp.addDeadline(slot, atMS)
	}
	sp.keys.SetSide(slot, atMS)
	sp.keyMoved(slot)
}

// addDeadline counts a deadline that is not 0.
func (sp *space) addDeadline(slot int, atMS int64) {
	sp.timed++
	low, carry := bits.Add64(sp.deadlineSum[0], uint64(max(atMS, 0)), 0)
	sp.deadlineSum = [2]uint64{low, sp.deadlineSum[1] + carry}
	sp.charge(deadlineBytes)
	sp.bound(slot, atMS)
}

// firstDeadline is setDeadline for a new key for which nothing needs to be watched.
func (sp *space) firstDeadline(slot int, atMS int64) {
	if sp.ownKeys != nil || sp.store.ownDeadlines {
		sp.addOwn(slot, atMS)
	}
	sp.addDeadline(slot, atMS)
	sp.keys.SetSide(slot, atMS)
}

// postpone is setDeadline for a later deadline than before, for a key that is not a hash with deadlines of
// fields. Its bound may stay, because it is early enough.
func (sp *space) postpone(slot int, wasMS, atMS int64) {
	low, carry := bits.Add64(sp.deadlineSum[0], uint64(atMS-max(wasMS, 0)), 0)
	sp.deadlineSum = [2]uint64{low, sp.deadlineSum[1] + carry}
	sp.keys.SetSide(slot, atMS)
}

// bound records that the key of a slot expires at atMS.
func (sp *space) bound(slot int, atMS int64) {
	sp.bounds.Lower(slot>>boundBits, atMS)
	sp.store.soonestMS = min(sp.store.soonestMS, atMS)
}

// dropDeadline stops counting the deadline of a key that is about to be removed or to get another deadline.
// The key need not have a deadline.
func (sp *space) dropDeadline(atMS int64) {
	if atMS != 0 {
		sp.timed--
		low, borrow := bits.Sub64(sp.deadlineSum[0], uint64(max(atMS, 0)), 0)
		sp.deadlineSum = [2]uint64{low, sp.deadlineSum[1] - borrow}
		sp.charge(-deadlineBytes)
	}
}

// keyMoved is called when the deadline of a key has changed or was removed. The key may then expire after its
// fields.
func (sp *space) keyMoved(slot int) {
	if sp.quiet(slot) {
		sp.watchFields(slot)
	}
}

// quiet reports whether the key of a slot is a hash with deadlines of fields that are all no earlier than the
// key's deadline.
func (sp *space) quiet(slot int) bool {
	_, v := sp.keys.At(slot)
	return v.tag() == Hash && v.hash().Quiet()
}

// fieldsDue reports whether any hash of the store may have an overdue field.
func (s *Store) fieldsDue() bool {
	atMS, ok := s.fields.NextMS()
	return ok && s.Past(atMS) && !s.follows
}

// live reports whether neither a key nor all of its fields are overdue.
func (sp *space) live(r Ref) bool {
	if sp.store.overdue(r.atMS) {
		return false
	}
	return r.v.tag() != Hash || !sp.store.fieldsDue() || !r.v.hash().AllOverdue(sp.store.pastMS())
}

// MeanTTL returns the mean time in milliseconds until the keys with a deadline expire; 0 if no key has a
// deadline.
func (k Keys) MeanTTL() int64 {
	sp := k.db.space
	if sp.timed == 0 {
		return 0
	}
	mean, _ := bits.Div64(sp.deadlineSum[1], sp.deadlineSum[0], uint64(sp.timed))
	return max(0, int64(mean)-k.db.store.nowMS)
}
