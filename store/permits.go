package store

import (
	"bytes"
	"math"

	"lockserver/internal/decimal"
	"lockserver/store/hash"
)

// A semaphore is stored as the hash of a lock with shared holders. The number of shared holds in a holder's
// value is the number of its permits. The permits in use are their sum. With many holders the hash stores the
// sum as its tally, and HashEdit keeps the tally up to date.

var semaphoreMode = []byte(SemaphoreMode)

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

// holdersBeside returns the number of holders in a hash with a number of other fields.
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

// isPermits reports whether a hash has the layout of a semaphore.
func isPermits(h *hash.Hash) bool {
	mode, _ := h.Get(nil, shareField)
	return string(mode) == SemaphoreMode
}
