package store

import (
	"bytes"
	"math"

	"lockserver/internal/decimal"
	"lockserver/store/hash"
	"lockserver/store/listpack"
)

// A semaphore is stored as the hash of a lock with shared holders. The number of shared holds in a holder's
// value is the number of its permits. The permits in use are their sum. With many holders the hash stores the
// sum as its tally, and HashEdit keeps the tally up to date.

const (
	// LimitField is the field of a semaphore with the number of its permits.
	LimitField = "$limit"
	// SemaphoreMode is the value of ShareField in a semaphore.
	SemaphoreMode = "sem"
	// ModeField is a field that a lock has only if it is a RReadWriteLock of Redisson.
	ModeField = "mode"
	// ReadersField is the field that stands for all native holders of such a lock.
	ReadersField = "$readers"
	// fewPermits is the largest number of holders that are counted each time, without a tally.
	fewPermits = 24
)

var limitField = []byte(LimitField)

var semaphoreMode = []byte(SemaphoreMode)

// afterHolder holds the bytes between the first holder and the limit in the hash of a semaphore.
var afterHolder = listpack.New().Append(shareField).Append(semaphoreMode).Append(limitField)

// MakeSemaphore makes the key, which must not exist, a semaphore with one owner. text is the value of the
// owner's field, with that token. The key and the field expire at atMS, milliseconds since 1970.
func (e *HashEdit) MakeSemaphore(owner, text []byte, token, limit, atMS int64) {
	s := e.db.store
	if lim := s.limits.Hash; lim.Entries < 3 || max(len(owner), len(text), len(LimitField)) > lim.Value || s.Past(atMS) { // it is a table, or gone
		e.Update(owner, text)
		e.Update(shareField, semaphoreMode)
		e.SetInt(limitField, limit)
		e.Expire(atMS)
		e.HoldUntil(owner, atMS)
		return
	}
	e.w.Hash = hash.NewTimed(s.hashes, owner, text, atMS, afterHolder, limit, &s.spareTimes)
	sp := e.insertNew()
	sp.tokens.Add(e.slot)
	e.seeToken(token)
	sp.firstDeadline(e.slot, atMS)
	sp.timedHashes++
	e.w.SetQuiet(true) // the field expires with the key
	if s.effects != nil {
		s.recordMember(e.db, "HSET", e.key, owner, text, shareField, semaphoreMode, limitField, appendInt(nil, limit))
		s.record(e.db, "PEXPIREAT", e.key, appendInt(nil, atMS))
		e.recordDeadline(owner, atMS)
	}
	s.dirty += 4 // and one more: each field and each deadline is a change
	e.fieldChanged(owner)
}

// OneHolder returns the owner of a semaphore with one holder, the value of the owner's field, and the limit.
// It knows only the form that MakeSemaphore stores; ok is false for any other form.
func OneHolder(h *hash.Hash) (owner, value []byte, limit int64, ok bool) {
	return h.FirstBefore(afterHolder)
}

// SharePermits returns the number of permits in the value of a holder's field; 0 if the field is no holder's.
// A value with exclusive holds counts no permits.
func SharePermits(value []byte) int64 {
	token, rest, ok := ShareToken(value)
	if !ok || token >= MaxToken {
		return 0
	}
	number, rest, ok := bytes.Cut(rest, []byte{':'})
	if !ok || string(rest) != "0" && string(rest) != "0:w" {
		return 0
	}
	n, ok := decimal.ParseInt(number)
	if !ok || n < 0 {
		return 0
	}
	return min(n, math.MaxInt32)
}

// Permits returns the number of permits of a semaphore that are in use.
func Permits(h *hash.Hash) int64 {
	if h.Timed() <= fewPermits {
		return countPermits(h)
	}
	return tallyOf(h).Sum
}

// PermitHolders returns the number of holders of a semaphore. Fields that were written by hand do not count.
// If no client gave a field a deadline, each field with a deadline is a holder.
func PermitHolders(h *hash.Hash) int {
	const others = 2 // the mode and the limit
	return holdersBeside(h, others, func(value []byte) bool { return SharePermits(value) > 0 })
}

// ShareHolders is PermitHolders for a lock with shared holders that is not held by a script of Redisson.
// holds reports whether a value is the value of a holder, which may be an exclusive holder if there are few.
func ShareHolders(h *hash.Hash, holds func(value []byte) bool) int {
	const others = 1 // the mode
	return holdersBeside(h, others, holds)
}

// holdersBeside returns the number of holders in a hash with so many other fields.
func holdersBeside(h *hash.Hash, others int, holds func(value []byte) bool) (n int) {
	fields := h.Len() - others
	switch {
	case fields == h.Timed() && !h.Mixed():
		return fields
	case h.Timed() <= fewPermits:
		h.Each(func(field, value []byte) bool {
			if holds(value) && !ReservedField(field) {
				n++
			}
			return true
		})
		return n
	}
	return tallyOf(h).Holders
}

func countPermits(h *hash.Hash) int64 {
	sum, _ := countHolders(h)
	return sum
}

// countHolders returns the sum of the permits in the values of a hash, and the number of its holders.
func countHolders(h *hash.Hash) (sum int64, holders int) {
	h.Each(func(field, value []byte) bool {
		if n := SharePermits(value); n > 0 && !ReservedField(field) {
			sum += n
			holders++
		}
		return true
	})
	return sum, holders
}

// tallyOf returns the tally of a hash, which it makes if there is none.
func tallyOf(h *hash.Hash) *hash.Tally {
	t := h.Tally()
	if t == nil {
		t = &hash.Tally{}
		t.Sum, t.Holders = countHolders(h)
		h.SetTally(t)
	}
	return t
}

// OwnerOfToken returns the field of the shared holder with a token; "" if no holder has the token.
func OwnerOfToken(h *hash.Hash, token int64) (owner string) {
	if h.Timed() <= fewPermits {
		h.Each(func(field, value []byte) bool {
			if of, _, ok := ShareToken(value); ok && of == token && !ReservedField(field) {
				owner = string(field)
			}
			return owner == ""
		})
		return owner
	}
	t := tallyOf(h)
	if t.Fields == nil {
		t.Fields = make(map[int64]string, h.Len())
		h.Each(func(field, value []byte) bool {
			if of, _, ok := ShareToken(value); ok && !ReservedField(field) {
				t.Fields[of] = string(field)
			}
			return true
		})
	}
	return t.Fields[token]
}

// addPermits adds a holder's value to a tally; with sign -1 it subtracts the value.
func addPermits(t *hash.Tally, value []byte, sign int) {
	if n := SharePermits(value); n > 0 {
		t.Sum += int64(sign) * n
		t.Holders += sign
	}
}

// without subtracts a field, which is about to change, from the tally of a hash, and returns the tally; nil
// if there is no tally.
func without(h *hash.Hash, field []byte) *hash.Tally {
	t := h.Tally()
	if t == nil {
		return nil
	}
	if value, ok := h.Get(nil, field); ok && !ReservedField(field) {
		// plant:tally
		addPermits(t, value, -1)
		if t.Fields != nil {
			if token, _, ok := ShareToken(value); ok {
				delete(t.Fields, token)
			}
		}
	}
	return t
}

// with adds a field with its new value to the tally that without returned, and attaches the tally to the hash
// again.
func with(h *hash.Hash, t *hash.Tally, field, value []byte) {
	if len(value) > 0 && !ReservedField(field) {
		addPermits(t, value, 1)
		if t.Fields != nil {
			if token, _, ok := ShareToken(value); ok {
				t.Fields[token] = string(field)
			}
		}
	}
	h.SetTally(t)
}

// tellField is DB.tell for one field of a hash.
func (db *DB) tellField(key []byte, h *hash.Hash, field []byte) {
	o := db.store.observer
	switch {
	case o == nil:
	case h == nil || h.Timed() <= fewPermits || !isPermits(h):
		o.KeyChanged(db.id, key)
	case len(field) == 0, string(field) == LimitField:
		o.HolderChanged(db.id, key, nil)
	case field[0] == '$' || string(field) == "mode":
		o.KeyChanged(db.id, key)
	default:
		o.HolderChanged(db.id, key, field)
	}
}

// isPermits reports whether a hash has the layout of a semaphore.
func isPermits(h *hash.Hash) bool {
	mode, _ := h.Get(nil, shareField)
	return string(mode) == SemaphoreMode
}
