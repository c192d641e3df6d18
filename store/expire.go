package store

import (
	"math/bits"

	"lockserver/store/due"
)

// deadline is one key's end of life. Neither its time nor its key changes while a cut is
// active: a snapshot reads them.
type deadline = due.Item[timedKey]

// timedKey is a key that has a deadline.
type timedKey struct {
	space *space
	key   string
	// note is HashEdit.SetNote's, which no snapshot reads; in the queue of fields, how many hold the lock
	// beside its first holder.
	note uint64
}

// NextDeadlineMS returns a time (milliseconds since 1970) before which no key and no field of a hash
// dies and no stream forgets a message, and false if none ever does.
func (s *Store) NextDeadlineMS() (int64, bool) {
	atMS, ok := s.deadlines.NextMS()
	if fieldMS, has := s.fields.NextMS(); has && (!ok || fieldMS < atMS) {
		atMS, ok = fieldMS, true
	}
	if messageMS, has := s.remembered.NextMS(); has && (!ok || messageMS < atMS) {
		atMS, ok = messageMS, true
	}
	return atMS, ok
}

// ExpireDue removes at most budget keys whose time has come, earliest first, then such fields of hashes and
// what streams are to forget, and says whether there may be more.
func (s *Store) ExpireDue(budget int) (more bool) {
	for budget > 0 {
		d := s.deadlines.Peek(s.nowMS, &budget)
		if d == nil {
			break
		}
		d.Of.space.db.expire(d.Of.key)
		budget--
	}
	s.expireDueFields(&budget)
	s.forgetDue(&budget)
	return budget == 0
}

// setDeadline gives v its time; 0 takes it away. v must be writable.
func (sp *space) setDeadline(key string, v *value, atMS int64) {
	q := &sp.store.deadlines
	if v.exp == nil {
		if atMS == 0 {
			return
		}
		v.exp = &deadline{Of: timedKey{space: sp, key: key}}
		sp.timed++
		sp.addDeadline(atMS)
		sp.charge(deadlineBytes)
		q.Set(v.exp, atMS)
		return
	}
	switch {
	case atMS == 0:
		sp.dropDeadline(v)
		v.exp = nil
	case sp.store.epoch.Active() > 0: // a snapshot may read the item: leave it as it is
		sp.takeDeadline(v.exp.AtMS())
		sp.addDeadline(atMS)
		fresh := &deadline{Of: v.exp.Of}
		q.Replace(v.exp, fresh, atMS)
		v.exp = fresh
	default:
		sp.takeDeadline(v.exp.AtMS())
		sp.addDeadline(atMS)
		q.Set(v.exp, atMS)
	}
	sp.keyMoved(key, v)
}

// dropDeadline takes the time of v away, if it has one. v must be writable, or about to be removed.
func (sp *space) dropDeadline(v *value) {
	if v.exp != nil {
		sp.store.deadlines.Remove(v.exp)
		sp.timed--
		sp.takeDeadline(v.exp.AtMS())
		sp.charge(-deadlineBytes)
	}
}

// addDeadline counts a deadline in the sum of the space.
func (sp *space) addDeadline(atMS int64) {
	low, carry := bits.Add64(sp.deadlineSum[0], uint64(max(atMS, 0)), 0)
	sp.deadlineSum = [2]uint64{low, sp.deadlineSum[1] + carry}
}

// takeDeadline is the end of addDeadline.
func (sp *space) takeDeadline(atMS int64) {
	low, borrow := bits.Sub64(sp.deadlineSum[0], uint64(max(atMS, 0)), 0)
	sp.deadlineSum = [2]uint64{low, sp.deadlineSum[1] - borrow}
}
