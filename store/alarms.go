package store

import (
	"bytes"
	"maps"
	"math"
	"slices"
)

// Alarms are for sorted sets with members that are due at their scores: the holds of sales and the delayed
// entries of streams. An alarm records when the first member of such a set is due, so that it is found
// without access to its key. A set is found by the name of its key, regardless of the command, snapshot or
// log that wrote it. So the alarms follow RENAME, MOVE, COPY, SWAPDB and RESTORE, and are removed by DEL
// and FLUSHALL. The store does not know what to do with a member that is due.

// Alarm is a kind of sorted set with members that fall due at their scores, in milliseconds since 1970.
type Alarm uint8

// The kinds of alarms.
const (
	HoldAlarm  Alarm = iota // holds of a sale, at keys with HoldsPrefix
	DelayAlarm              // delayed entries of a stream, at keys of the form {stream}:delayed
	alarmKinds = iota
)

// The prefixes and suffixes of the names of these keys.
const (
	HoldsPrefix   = "seckill:holds:"
	DelayedPrefix = "{"
	DelayedSuffix = "}:delayed"
	// EntriesSuffix follows the name of a list of delayed entries. The key with this suffix is a hash with
	// the content of the entries.
	EntriesSuffix = ":entries"
	// RequestsSuffix follows the same name. The key with this suffix is a hash with the remembered requests.
	RequestsSuffix = ":requests"
)

// alarms are the alarms of one kind in one space, by their keys. Each is in the store's queue.
type alarms map[string]*deadline

// farMS stands for a score that is later than any time of the clock.
const farMS = 1 << 62

// kindOfAlarm returns the kind of alarm of a sorted set at a key; ok is false if the key has no alarm.
func kindOfAlarm[K string | []byte](key K) (kind Alarm, ok bool) {
	if len(key) < len(DelayedPrefix)+len(DelayedSuffix) {
		return 0, false
	}
	switch key[0] {
	case HoldsPrefix[0]:
		return HoldAlarm, len(key) >= len(HoldsPrefix) && string(key[:len(HoldsPrefix)]) == HoldsPrefix
	case DelayedPrefix[0]:
		return DelayAlarm, string(key[len(key)-len(DelayedSuffix):]) == DelayedSuffix
	}
	return 0, false
}

// DelayedStream returns the stream to which the delayed entries, or their content, at a key belong.
func DelayedStream(key []byte) (stream []byte, ok bool) {
	name := delayedSet(key)
	if kind, ok := kindOfAlarm(name); !ok || kind != DelayAlarm {
		return nil, false
	}
	return name[len(DelayedPrefix) : len(name)-len(DelayedSuffix)], true
}

// delayedSet returns the name of the sorted set of delayed entries that a hash belongs to. For any other key
// it returns the key itself.
func delayedSet(key []byte) []byte {
	if name, ok := bytes.CutSuffix(key, []byte(EntriesSuffix)); ok {
		return name
	}
	name, _ := bytes.CutSuffix(key, []byte(RequestsSuffix))
	return name
}

// HoldsEntries reports whether a key holds the content of a stream's delayed entries.
func HoldsEntries[K string | []byte](key K) bool {
	const suffix = DelayedSuffix + EntriesSuffix
	return len(key) > len(suffix) && string(key[len(key)-len(suffix):]) == suffix
}

// IsRule reports whether the content of a delayed entry has a rule: then a star comes before the first comma.
// Package commands has the format.
func IsRule(value []byte) bool {
	at := bytes.IndexAny(value, ",*")
	return at >= 0 && value[at] == '*'
}

// Recurs reports whether one of the delayed entries with their content in a value recurs. It looks at each.
func (r Ref) Recurs() (recurs bool) {
	if r.Is(Hash) {
		r.Hash().Each(func(_, value []byte) bool {
			recurs = IsRule(value)
			return !recurs
		})
	}
	return recurs
}

// ofDelays reports whether a key holds delayed entries of a stream.
func ofDelays(key []byte) bool {
	kind, ok := kindOfAlarm(delayedSet(key))
	return ok && kind == DelayAlarm
}

// DueMS returns when a member with this score falls due.
func DueMS(score float64) int64 {
	switch {
	case score >= farMS:
		return farMS
	case score <= 0:
		return 0
	}
	return int64(math.Ceil(score))
}

// DueSet returns a sorted set with a first member that is due; ok is false if there is no such set. steps
// bounds the work and is counted down for every false alarm. The key belongs to the caller.
func (s *Store) DueSet(kind Alarm, steps *int) (db *DB, key []byte, ok bool) {
	for !s.frozenTime {
		alarm := s.alarms[kind].Peek(s.nowMS, steps)
		if alarm == nil {
			break
		}
		db, key = alarm.Of.space.db, []byte(alarm.Of.key)
		_, r := db.lookUp(key)
		if !r.OK() || r.Kind() != ZSet { // expired, or overwritten
			alarm.Of.space.dropAlarm(kind, alarm)
		} else {
			_, score := r.ZSet().At(0, nil)
			if DueMS(score) <= s.nowMS {
				return db, key, true
			}
			s.alarms[kind].Set(alarm, DueMS(score))
		}
		*steps--
	}
	return nil, nil, false
}

// PutOff sets the alarm of a sorted set that DueSet has returned to atMS, because its first member cannot be
// processed now.
func (db *DB) PutOff(key []byte, atMS int64) {
	if kind, ok := kindOfAlarm(key); ok {
		if alarm := db.space.alarms[kind][string(key)]; alarm != nil {
			db.store.alarms[kind].Set(alarm, atMS)
		}
	}
}

// AlarmSets returns the sorted names of the keys that hold sets of a kind, or have held them.
func (k Keys) AlarmSets(kind Alarm) []string {
	return slices.Sorted(maps.Keys(k.db.space.alarms[kind]))
}

// EachAlarmSet visits the keys that hold sets of a kind, or have held them, in no order.
func (k Keys) EachAlarmSet(kind Alarm, visit func(key string)) {
	for key := range k.db.space.alarms[kind] {
		visit(key)
	}
}

// EarliestSets visits at most n keys that hold sets of a kind, or have held them. They come in the
// order in which their first members fall due.
func EarliestSets(s *Store, kind Alarm, n int, visit func(db *DB, key string)) {
	s.alarms[kind].Earliest(n, func(alarm *deadline) { visit(alarm.Of.space.db, alarm.Of.key) })
}

// watchAlarm sets the alarm for a value that has just been put at key, if it is a set with an alarm.
func (sp *space) watchAlarm(key []byte, v *value) {
	if v.tag() == ZSet && v.zset().Len() > 0 {
		_, score := v.zset().At(0, nil)
		sp.ringAt(key, score)
	}
}

// ringAt sets the alarm of the set at key to a score, unless the alarm is earlier or the set's kind has no
// alarms. The alarm does not follow the removal of the first member. That is detected when the alarm rings.
func (sp *space) ringAt(key []byte, score float64) {
	kind, ok := kindOfAlarm(key)
	if !ok {
		return
	}
	atMS := DueMS(score)
	alarm := sp.alarms[kind][string(key)]
	switch {
	case alarm == nil:
		alarm = &deadline{Of: timedKey{space: sp, key: string(key)}}
		if sp.alarms[kind] == nil {
			sp.alarms[kind] = make(alarms)
		}
		sp.alarms[kind][alarm.Of.key] = alarm
	case alarm.AtMS() <= atMS:
		return
	}
	sp.store.alarms[kind].Set(alarm, atMS)
}

// forgetAlarm removes the alarm of a key that is about to be removed, if the key has an alarm.
func (sp *space) forgetAlarm(key string) {
	kind, ok := kindOfAlarm(key)
	if !ok || len(sp.alarms[kind]) == 0 {
		return
	}
	if alarm := sp.alarms[kind][key]; alarm != nil {
		sp.dropAlarm(kind, alarm)
	}
}

func (sp *space) dropAlarm(kind Alarm, alarm *deadline) {
	sp.store.alarms[kind].Remove(alarm)
	delete(sp.alarms[kind], alarm.Of.key)
}

// forgetAllAlarms is forgetAlarm for all keys of a space that is dropped as a whole.
func (sp *space) forgetAllAlarms() {
	for kind := range sp.alarms {
		if len(sp.alarms[kind]) > 0 {
			sp.store.alarms[kind].RemoveAll(func(alarm *deadline) bool { return alarm.Of.space == sp })
			sp.alarms[kind] = nil
		}
	}
}
