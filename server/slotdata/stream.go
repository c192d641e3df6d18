package slotdata

import (
	"slices"
	"strconv"

	"lockserver/persistence"
	"lockserver/store"
)

// Value returns the value of a key of database 0 now, as RESTORE takes it, and its deadline in milliseconds
// since 1970, or 0. The payload is nil if there is no such key.
type Value func(key []byte) (payload []byte, deadlineMS int64)

// ValueOf returns the value of a key in the form of Value. The store's time must be frozen.
func ValueOf(db *store.DB, key []byte) (payload []byte, deadlineMS int64) {
	r := db.Peek(key)
	if !r.OK() {
		return nil, 0
	}
	return persistence.Dump(nil, r, false), r.DeadlineMS()
}

// Stream narrows units to the effects on some slots. It is a journal (durability.Journal): each unit comes
// to Append at its end, under the executor.
//
// An effect is passed on if all its keys are in the slots, and left out if none of its keys is. A few effects
// take a value into the slots, or out of them, such as a MOVE, or a RENAME in a script that may use keys of
// several slots. The target cannot repeat such an effect. It changes the keys in the slots, and the stream
// sends each changed key as it is at the end of the unit.
type Stream struct {
	slots  *Slots
	value  Value
	send   func(unit []store.Effect)
	broken bool

	unit    []store.Effect
	changed [][]byte // keys that are sent as they are at the end of the unit
	// isChanged has the keys of changed.
	isChanged map[string]bool
}

// NewStream returns a stream that begins at a cut. send gets each unit that has effects on the slots, and may
// keep nothing of it.
func NewStream(slots *Slots, value Value, send func(unit []store.Effect)) *Stream {
	return &Stream{slots: slots, value: value, send: send, isChanged: map[string]bool{}}
}

// Broken reports whether the stream has met an effect that it cannot narrow: SWAPDB of database 0, or an
// effect that this version does not know. Nothing is sent from then on. The slots have to be cut anew.
func (s *Stream) Broken() bool { return s.broken }

// Append implements durability.Journal.
func (s *Stream) Append(unit []store.Effect) {
	for i := range unit {
		if !s.broken {
			s.effect(&unit[i])
		}
	}
	if s.broken {
		return
	}
	for _, key := range s.changed {
		s.unit = append(s.unit, s.state(key))
	}
	if len(s.unit) > 0 {
		s.send(s.unit)
	}
	clear(s.unit)
	clear(s.changed)
	clear(s.isChanged)
	s.unit, s.changed = s.unit[:0], s.changed[:0]
}

// effect passes an effect on, or changes keys, or neither.
func (s *Stream) effect(e *store.Effect) {
	t := touched(e)
	switch {
	case t.unknown:
		s.broken = true
		return
	case t.all:
		s.unit = append(s.unit, *e)
		return
	}
	whole, ours := !t.foreign, false
	for _, key := range t.written {
		has := s.slots.Has(key)
		ours = ours || has
		whole = whole && has && !s.isChanged[string(key)]
	}
	if !ours {
		return
	}
	for _, key := range t.read {
		whole = whole && s.slots.Has(key) && !s.isChanged[string(key)]
	}
	if whole {
		s.unit = append(s.unit, *e)
		return
	}
	for _, key := range t.written {
		if s.slots.Has(key) && !s.isChanged[string(key)] {
			s.changed = append(s.changed, key)
			s.isChanged[string(key)] = true
		}
	}
}

// state returns the effect that gives a key the value that it has now.
func (s *Stream) state(key []byte) store.Effect {
	payload, deadlineMS := s.value(key)
	if payload == nil {
		return store.Effect{Args: [][]byte{[]byte("DEL"), key}}
	}
	return store.Effect{Args: [][]byte{[]byte("RESTORE"), key, strconv.AppendInt(nil, deadlineMS, 10), payload, []byte("REPLACE"), []byte("ABSTTL")}}
}

// touch says what an effect has to do with database 0.
type touch struct {
	written, read [][]byte // keys
	// foreign says that a value comes from another database, or goes there.
	foreign bool
	all     bool // every key is removed
	unknown bool
}

// touched returns the keys of an effect of the list in store/effects.go.
func touched(e *store.Effect) touch {
	here := e.DB == 0
	switch name := string(e.Args[0]); name {
	case "FLUSHALL":
		return touch{all: true}
	case "FLUSHDB":
		return touch{all: here}
	case "FUNCTION":
		return touch{} // functions are the shard's
	case "SWAPDB":
		zero := func(arg []byte) bool { return string(arg) == "0" }
		return touch{unknown: zero(e.Args[1]) != zero(e.Args[2])}
	case "MOVE":
		if here || string(e.Args[2]) == "0" {
			return touch{written: e.Args[1:2], foreign: true}
		}
		return touch{}
	case "COPY":
		if string(e.Args[4]) != "0" {
			return touch{}
		}
		return touch{written: e.Args[2:3], read: e.Args[1:2], foreign: !here}
	case "RENAME":
		return touch{written: e.Args[1:3]}.in(here)
	case "PFMERGE":
		return touch{written: e.Args[1:2], read: e.Args[2:]}.in(here)
	case "XGROUP":
		return touch{written: e.Args[2:3]}.in(here)
	default:
		if !slices.Contains(ofOneKey, name) {
			return touch{unknown: true}
		}
		return touch{written: e.Args[1:2]}.in(here)
	}
}

// in returns the touch of an effect that is in database 0 or not.
func (t touch) in(here bool) touch {
	if !here {
		return touch{}
	}
	return t
}

// ofOneKey are the names of the effects with one key, which is their first argument.
var ofOneKey = []string{"SET", "APPEND", "SETRANGE", "DEL", "PEXPIREAT", "PERSIST", "RESTORE", "HSET", "HDEL", "HPEXPIREAT", "HPERSIST",
	"PFADD", "SADD", "SREM", "RPUSH", "LPUSH", "RPOP", "LPOP", "LSET", "LINSERT", "LTRIM", "LREM", "ZADD", "ZREM",
	"XADD", "XDEL", "XTRIM", "XSETID", "XCFGSET", "XIDMPRECORD", "XCLAIM", "XACK", "BF.RESERVE", "BF.MADD", "BF.LOADCHUNK"}
