package store

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// The alarms of sale holds, so that each hold ends in time without access to its key. They record which
// sorted sets are lists of holds, and when the first member of each is due. A list is found by the prefix of
// its key, and a hold is due at its score, regardless of the command, snapshot or log that wrote it. So the
// alarms follow RENAME, MOVE, COPY, SWAPDB and RESTORE, and are removed by DEL and FLUSHALL. The store does
// not know what to do with a hold that is due.

// HoldsPrefix is the prefix of sorted sets with members that are due at their scores, in milliseconds since
// 1970.
const HoldsPrefix = "seckill:holds:"

// farMS stands for a score that is beyond all time.
const farMS = 1 << 62

func isHolds(key []byte) bool {
	return len(key) >= len(HoldsPrefix) && key[0] == HoldsPrefix[0] && string(key[:len(HoldsPrefix)]) == HoldsPrefix
}

// HoldMS returns when a hold with this score falls due.
func HoldMS(score float64) int64 {
	switch {
	case score >= farMS:
		return farMS
	case score <= 0:
		return 0
	}
	return int64(math.Ceil(score))
}

// NextHoldMS returns a time (milliseconds since 1970) before which no hold falls due,
// and false if none ever does.
func (s *Store) NextHoldMS() (int64, bool) { return s.holds.NextMS() }

// HoldsDue reports whether a hold may be due.
func (s *Store) HoldsDue() bool {
	atMS, ok := s.holds.NextMS()
	return ok && atMS <= s.nowMS && !s.frozenTime
}

// DueHolds returns a sorted set with a first member that is due; ok is false if there is none. steps bounds
// the work and is counted down for every false alarm. The key belongs to the caller.
func (s *Store) DueHolds(steps *int) (db *DB, key []byte, ok bool) {
	for !s.frozenTime {
		alarm := s.holds.Peek(s.nowMS, steps)
		if alarm == nil {
			break
		}
		db, key = alarm.Of.space.db, []byte(alarm.Of.key)
		r := db.Peek(key)
		if !r.OK() || r.Kind() != ZSet { // expired, or overwritten
			alarm.Of.space.dropHolds(alarm)
		} else {
			_, score := r.ZSet().At(0, nil)
			if HoldMS(score) <= s.nowMS {
				return db, key, true
			}
			s.holds.Set(alarm, HoldMS(score))
		}
		*steps--
	}
	return nil, nil, false
}

// PutOffHolds lets the alarm of a sorted set of DueHolds ring again at atMS, because its first
// member cannot be worked off now.
func (db *DB) PutOffHolds(key []byte, atMS int64) {
	if alarm := db.space.holds[string(key)]; alarm != nil {
		db.store.holds.Set(alarm, atMS)
	}
}

// HoldLists returns the names of the keys that are lists of holds, or were, in their order.
func (db *DB) HoldLists() []string { return slices.Sorted(maps.Keys(db.space.holds)) }

// watchHolds makes a value that has just come to stand at key ring, if that is a list of holds.
func (sp *space) watchHolds(key []byte, v *value) {
	if v.tag() == ZSet && isHolds(key) && v.zset().Len() > 0 {
		_, score := v.zset().At(0, nil)
		sp.holdUntil(key, score)
	}
}

// holdUntil makes the list of holds at key ring at a score, unless it rings before. The alarm does not follow
// the removal of the first member; that is detected when it rings.
func (sp *space) holdUntil(key []byte, score float64) {
	atMS := HoldMS(score)
	alarm := sp.holds[string(key)]
	switch {
	case alarm == nil:
		alarm = &deadline{Of: timedKey{space: sp, key: string(key)}}
		if sp.holds == nil {
			sp.holds = make(map[string]*deadline)
		}
		sp.holds[alarm.Of.key] = alarm
	case alarm.AtMS() <= atMS:
		return
	}
	sp.store.holds.Set(alarm, atMS)
}

// forgetHolds takes back the alarm of a key that goes, if it has one.
func (sp *space) forgetHolds(key string) {
	if len(sp.holds) == 0 || !strings.HasPrefix(key, HoldsPrefix) {
		return
	}
	if alarm := sp.holds[key]; alarm != nil {
		sp.dropHolds(alarm)
	}
}

func (sp *space) dropHolds(alarm *deadline) {
	sp.store.holds.Remove(alarm)
	delete(sp.holds, alarm.Of.key)
}

// forgetAllHolds is forgetHolds for a space that is dropped as a whole.
func (sp *space) forgetAllHolds() {
	if len(sp.holds) > 0 {
		sp.store.holds.RemoveAll(func(alarm *deadline) bool { return alarm.Of.space == sp })
		sp.holds = nil
	}
}
