package store

import (
	"bytes"

	"lockserver/internal/decimal"
	"lockserver/store/due"
	"lockserver/store/hash"
	"lockserver/store/sparse"
)

// The hash of a lock, and that of a semaphore, has fields with names of their own, and values with a token.
// Eight bytes beside each lock describe its holder: the low bits of its client's number, and the millisecond
// in which it acquired the lock. More would take too much memory.

const (
	// TokenField is the field with a native lock's fencing token. EachToken visits the hashes with this
	// field.
	TokenField = "$token"
	// WatchdogField is the field of a lock with a lease that the server renews.
	WatchdogField = "$watchdog"
	// ShareField is the field that marks a lock with shared holders; EachToken visits these, too. Their
	// tokens are in the values of their holders' fields (ShareToken).
	ShareField = "$mode"
	// CompanionPrefix begins the names of the keys that Redisson stores beside a lock: its token, its queue,
	// and the timeouts of the clients in the queue.
	CompanionPrefix = "redisson_lock_"
	// StockPrefix begins the names of the keys of a sale: the stock, with the voucher after the prefix.
	StockPrefix = "seckill:stock:"
)

func (v *value) hasToken() bool {
	return v.tag() == Hash && (v.hash().Has([]byte(TokenField)) || v.hash().Has(shareField))
}

var shareField = []byte(ShareField)

// MaxToken is above every fencing token. A JavaScript number holds it exactly, and the clock reaches it in
// the year 2255. A hash with a higher token is no lock of ours.
const MaxToken = 1<<53 - 1

// furthestTokenUS is how far a token in the data may be ahead of the clock (100 years) for new tokens to
// start above it. Tokens never fall, so a token that a client wrote by hand raises the tokens of all locks
// for ever. Without a bound one key could use up all tokens.
const furthestTokenUS = 100 * 366 * 86_400_000_000

// TokenCanRise reports whether a new token can exceed a token of the data. nowUS is the time in
// microseconds since 1970.
func TokenCanRise(nowUS, token int64) bool {
	return token <= nowUS+furthestTokenUS && token < MaxToken-1
}

// mayBeToken is the cheap first check of SeeField, which runs for every written field.
func mayBeToken(field, val []byte) bool {
	return len(field) == len(TokenField) && field[0] == '$' || len(val) > 0 && val[0] == '$'
}

// tokenIn returns the fencing token of a field, if the field holds a token.
func tokenIn(field, val []byte) (token int64, ok bool) {
	if string(field) == TokenField {
		return decimal.ParseInt(val)
	}
	token, _, ok = ShareToken(val)
	return token, ok
}

// ShareToken reads the fencing token at the start of a shared holder's value, "$token:...". No script of
// Redisson takes such a value for a number. rest is the text after the colon.
func ShareToken(value []byte) (token int64, rest []byte, ok bool) {
	if len(value) == 0 || value[0] != '$' {
		return 0, nil, false
	}
	const usual = 17 // the usual index of the colon: behind a token that is made of the time
	if len(value) > usual && value[usual] == ':' {
		if token, ok = decimal.ParseInt(value[1:usual]); ok {
			return token, value[usual+1:], token > 0
		}
	}
	number, rest, ok := bytes.Cut(value[1:], []byte{':'})
	if !ok {
		return 0, nil, false
	}
	token, ok = decimal.ParseInt(number)
	return token, rest, ok && token > 0
}

// TokenDigits returns the digits of the token in the value of a shared holder's field. The value must have a
// token.
func TokenDigits(value []byte) []byte { return value[1:bytes.IndexByte(value, ':')] }

// ReservedField reports whether a field of a lock or a semaphore cannot be an owner's, whatever its value.
func ReservedField(field []byte) bool {
	if len(field) > 0 && field[0] != '$' {
		return string(field) == ModeField
	}
	switch string(field) {
	case TokenField, WatchdogField, ShareField, LimitField, ReadersField:
		return true
	}
	return false
}

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

// tokenTimeMS returns the time at which the lowest fencing token of a lock's hash was made; due.Never if the
// hash has no token.
func tokenTimeMS(h *hash.Hash) int64 {
	if token, isInt, _ := h.GetInt([]byte(TokenField)); isInt {
		return token / 1000
	}
	lowest := int64(due.Never)
	h.Each(func(_, value []byte) bool {
		if token, _, ok := ShareToken(value); ok {
			lowest = min(lowest, token/1000)
		}
		return true
	})
	return lowest
}

// owners returns the number of holders of a lock with a token; 0 if the value is no lock, or the lock is
// free.
func owners(v *value) int {
	if !v.hasToken() {
		return 0
	}
	n := v.hash().Len() - 1
	if n > 0 && (v.hash().Has([]byte(WatchdogField)) || v.hash().Timed() > 0 && v.hash().Has(limitField)) {
		n--
	}
	return n
}

// RecordTimeBits is the number of low bits of a record (HashEdit.SetLockRecord) that hold the time of the
// acquisition, in milliseconds since 1970.
const RecordTimeBits = 42

// RecordIDs is the number of client numbers that a record can distinguish.
const RecordIDs = 1 << (64 - RecordTimeBits)

// recordTimeMS returns the time of a record that is not 0.
func recordTimeMS(record uint64) int64 { return int64(record & (1<<RecordTimeBits - 1)) }

// NewLockRecord returns the record of a lock that a client has held since sinceMS, in milliseconds since
// 1970. It returns 0 if the time does not fit.
func NewLockRecord(client, sinceMS int64) uint64 {
	if sinceMS <= 0 || sinceMS >= 1<<RecordTimeBits {
		return 0
	}
	return uint64(client)<<RecordTimeBits | uint64(sinceMS)
}

// ReadLockRecord returns the low bits of a client's number, below RecordIDs, and the time of the acquisition,
// in milliseconds since 1970.
func ReadLockRecord(record uint64) (client, sinceMS int64) {
	return int64(record >> RecordTimeBits), recordTimeMS(record)
}

// lockRecords holds eight bytes for some keys, by slot.
type lockRecords struct {
	of sparse.Array[uint64]
	n  int
}

func (n *lockRecords) at(slot int) uint64 {
	if record := n.of.At(slot); record != nil {
		return *record
	}
	return 0
}
