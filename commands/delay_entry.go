package commands

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/store/zset"
)

// A delayed entry is stored in two ordinary keys of its stream. The sorted set {stream}:delayed has a member
// for each entry, at the time at which it is due. The hash {stream}:delayed:entries has a field for each
// entry, named by its id. docs/decisions/0017-delayed-entries.md explains why.
//
// A member is a place and the id: "a0:order-7". Places order the entries that are due at the same time. They
// are numbers with a letter before them for the number of digits (a: 1, b: 2), so that they sort as texts.
//
// The value of a field is the place, and then fields and values as netstrings: "a0,5:order,2:42,". An entry
// that recurs has a star and its rule, a netstring, in place of the first comma: "a0*40:...,5:order,2:42,". A
// server that does not know rules takes that for a damaged value. Formats, do not change.

// delayKey returns the name of the sorted set of a stream. It is valid until the next call for a name.
func delayKey(c *Ctx, stream []byte) []byte {
	return append(append(append(c.names[0][:0], store.DelayedPrefix...), stream...), store.DelayedSuffix...)
}

// entriesKey returns the name of the hash of a stream. It is valid as long as that of delayKey.
func entriesKey(c *Ctx, stream []byte) []byte {
	name := append(append(append(c.names[1][:0], store.DelayedPrefix...), stream...), store.DelayedSuffix...)
	return append(name, store.EntriesSuffix...)
}

// delayedStream returns the stream of a sorted set's name.
func delayedStream(key []byte) []byte {
	return key[len(store.DelayedPrefix) : len(key)-len(store.DelayedSuffix)]
}

// appendPlace appends the text of a place, 0 or more.
func appendPlace(dst []byte, place int64) []byte {
	at := len(dst)
	dst = strconv.AppendInt(append(dst, 0), place, 10)
	dst[at] = byte('a' + len(dst) - at - 2)
	return dst
}

// parsePlace reads the text of a place.
func parsePlace(text []byte) (place int64, ok bool) {
	if len(text) < 2 || int(text[0]) != 'a'+len(text)-2 {
		return 0, false
	}
	place, ok = decimal.ParseInt(text[1:])
	return place, ok && place >= 0
}

// appendMember appends the member of an entry.
func appendMember(dst []byte, place int64, id []byte) []byte {
	return append(append(appendPlace(dst, place), ':'), id...)
}

// parseMember reads a member; id is a part of it.
func parseMember(member []byte) (place int64, id []byte, ok bool) {
	text, id, ok := bytes.Cut(member, []byte{':'})
	if !ok {
		return 0, nil, false
	}
	place, ok = parsePlace(text)
	return place, id, ok
}

// appendNetstring appends a word as a netstring.
func appendNetstring(dst, word []byte) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(word)), 10), ':')
	return append(append(dst, word...), ',')
}

// parseNetstrings appends the words of netstrings, which are parts of text, to dst.
func parseNetstrings(dst [][]byte, text []byte) ([][]byte, bool) {
	for len(text) > 0 {
		word, rest, ok := cutNetstring(text)
		if !ok {
			return dst, false
		}
		dst, text = append(dst, word), rest
	}
	return dst, true
}

// cutNetstring returns the first word of netstrings, and what is behind it.
func cutNetstring(text []byte) (word, rest []byte, ok bool) {
	size, tail, _ := bytes.Cut(text, []byte{':'})
	n, ok := decimal.ParseInt(size)
	if !ok || n < 0 || n >= int64(len(tail)) || tail[n] != ',' {
		return nil, nil, false
	}
	return tail[:n:n], tail[n+1:], true
}

// appendEntry appends the value of an entry's field. rule has the form of delayRule.appendRule; nil: no rule.
func appendEntry(dst []byte, place int64, rule []byte, fields [][]byte) []byte {
	dst = appendPlace(dst, place)
	if rule == nil {
		dst = append(dst, ',')
	} else {
		dst = appendNetstring(append(dst, '*'), rule)
	}
	for _, f := range fields {
		dst = appendNetstring(dst, f)
	}
	return dst
}

// StoresRule reports whether an effect on a database stores a delayed entry that recurs. An effect that gives
// a stream all of its entries at once does not show them. StoresRule then calls recurs with the database and
// the key of the entries (see store.Ref.Recurs).
func StoresRule(db int, args [][]byte, recurs func(db int, key []byte) bool) bool {
	at, inDB := 1, 0 // the places of the key and of the database; 0: the database of the effect
	switch string(args[0]) {
	case "HSET":
		if store.HoldsEntries(args[1]) {
			for i := 3; i < len(args); i += 2 {
				if store.IsRule(args[i]) {
					return true
				}
			}
		}
		return false
	case "RENAME":
		at = 2
	case "COPY":
		at, inDB = 2, 4
	case "MOVE":
		inDB = 2
	case "RESTORE":
	default:
		return false
	}
	if len(args) <= max(at, inDB) || !store.HoldsEntries(args[at]) {
		return false
	}
	if inDB > 0 {
		n, _ := decimal.ParseInt(args[inDB])
		db = int(n)
	}
	return recurs(db, args[at])
}

// StoreRules reports whether one of some effects stores a delayed entry that recurs: see StoresRule.
func StoreRules(effects []store.Effect, recurs func(db int, key []byte) bool) bool {
	return slices.ContainsFunc(effects, func(e store.Effect) bool { return StoresRule(e.DB, e.Args, recurs) })
}

// Recurs reports whether some delayed entry of a database recurs. It looks at each of them.
func Recurs(db *store.DB) (recurs bool) {
	db.Keys().EachAlarmSet(store.DelayAlarm, func(key string) {
		recurs = recurs || db.Peek([]byte(key+store.EntriesSuffix)).Recurs()
	})
	return recurs
}

// parseEntry reads the value of an entry's field, and appends the fields, which are parts of it, to dst.
func parseEntry(dst [][]byte, value []byte) (place int64, rule []byte, fields [][]byte, ok bool) {
	at := bytes.IndexAny(value, ",*")
	if at < 0 {
		return 0, nil, dst, false
	}
	rest := value[at+1:]
	if place, ok = parsePlace(value[:at]); ok && value[at] == '*' {
		rule, rest, ok = cutNetstring(rest)
	}
	if !ok {
		return 0, nil, dst, false
	}
	if fields, ok = parseNetstrings(dst, rest); !ok {
		return 0, nil, dst, false
	}
	n := len(fields) - len(dst)
	return place, rule, fields, n > 0 && n%2 == 0
}

// delays holds the two keys of a stream, to be read until the next change.
type delays struct {
	set     *zset.ZSet // nil: no such key
	entries *hash.Hash // nil: no such key
}

// findDelays looks up the keys of a stream by find: DB.Peek to read, or DB.FindToWrite, which removes an
// overdue key.
func findDelays(c *Ctx, stream []byte, find func(key []byte) store.Ref) (d delays, err error) {
	find(delayKey(c, stream))
	entries := find(entriesKey(c, stream))
	set := c.DB.Peek(delayKey(c, stream)) // not earlier: the second look-up may have removed an overdue key
	if !set.Is(store.ZSet) || !entries.Is(store.Hash) {
		return d, ErrWrongType
	}
	return delays{set.ZSet(), entries.Hash()}, nil
}

// ticket is a pending entry.
type ticket struct {
	place  int64
	dueMS  int64
	value  []byte   // as it is stored
	rule   []byte   // a part of value; nil: the entry does not recur
	fields [][]byte // parts of value
}

// find returns the pending entry with an id; ok is false if there is no such entry.
func (d *delays) find(id []byte) (t ticket, ok bool) {
	if d.set == nil || d.entries == nil {
		return t, false
	}
	value, ok := d.entries.Get(nil, id)
	if !ok {
		return t, false
	}
	t.value = value
	if t.place, t.rule, t.fields, ok = parseEntry(nil, value); !ok {
		return t, false
	}
	score, ok := d.set.Score(appendMember(nil, t.place, id))
	t.dueMS = store.DueMS(score)
	return t, ok
}

// nextPlace returns a place after all entries of a sorted set that are due at a time. The set may be missing.
func nextPlace(z *zset.ZSet, dueMS int64) (int64, error) {
	if z == nil {
		return 0, nil
	}
	last, score, ok := z.LastUpTo(float64(dueMS), nil)
	if !ok || score < float64(dueMS) {
		return 0, nil
	}
	place, _, ok := parseMember(last)
	switch {
	case !ok: // a client has added it by hand: it is skipped when it is due
		return 0, nil
	case place == math.MaxInt64:
		return 0, ErrDelayPlaces
	}
	return place + 1, nil
}
