package commands

import (
	"math"

	"lockserver/internal/lockhistory"
)

// WaitingLock holds the state of a call that waits for an owner: of LOCK, MLOCK or SEM.ACQUIRE, or of
// LIMIT.TAKE or LIMIT.MTAKE with NOTIFY. There may be a million of them, so it is small: keys, owner and
// permits are read from the words of the command.
type WaitingLock struct {
	leaseMS int64        // as lease.ms
	grants  *[]lockGrant // nil means no grant
	// number is the number of keys that the call names. For a semaphore it is the limit at the last try, or 0
	// if the call has named no limit and has not tried.
	number  int32
	kind    waitKind
	renewed bool // the call names no lease, so the server renews it
	once    bool
	traced  bool // the command has a traceparent
}

// waitKind says what a WaitingLock waits for.
type waitKind uint8

const (
	waitsForLock waitKind = iota
	waitsForShare
	waitsForLocks
	waitsForShares
	waitsForPermits
	waitsForUnits     // one limiter
	waitsForManyUnits // several limiters
)

// kindOf returns the kind of wait of a LOCK or MLOCK.
func kindOf(shared, many bool) waitKind {
	switch {
	case shared && many:
		return waitsForShares
	case shared:
		return waitsForShare
	case many:
		return waitsForLocks
	}
	return waitsForLock
}

// waitingUnits returns the state of a call that waits for units of one or more limiters.
func waitingUnits(many bool, limiters int) WaitingLock {
	if many {
		return WaitingLock{kind: waitsForManyUnits, number: int32(limiters)}
	}
	return WaitingLock{kind: waitsForUnits}
}

// Semaphore reports whether the call waits for permits of a semaphore.
func (w *WaitingLock) Semaphore() bool { return w.kind == waitsForPermits }

// Limiter reports whether the call waits for units of one or more limiters.
func (w *WaitingLock) Limiter() bool { return w.kind >= waitsForUnits }

// LeaseMS returns the requested lease in milliseconds, or 0 for a lease that the server renews.
func (w *WaitingLock) LeaseMS() int64 {
	if w.renewed {
		return 0
	}
	return w.leaseMS
}

// Mode returns the mode in which the call wants the locks or permits.
func (w *WaitingLock) Mode() lockhistory.Mode {
	switch w.kind {
	case waitsForPermits:
		return lockhistory.Semaphore
	case waitsForShare, waitsForShares:
		return lockhistory.Shared
	}
	return lockhistory.Exclusive
}

// Many reports whether the call is an MLOCK or a LIMIT.MTAKE.
func (w *WaitingLock) Many() bool {
	return w.kind == waitsForLocks || w.kind == waitsForShares || w.kind == waitsForManyUnits
}

// Renews gives the call the lease that a later call of the same owner asks for.
func (w *WaitingLock) Renews(later *WaitingLock) {
	w.leaseMS, w.renewed = later.leaseMS, later.renewed
	if w.kind != waitsForPermits { // the queue of a semaphore depends on once
		w.once = later.once
	}
}

// Keys returns the number of keys that the call names.
func (w *WaitingLock) Keys() int {
	if w.Many() {
		return int(w.number)
	}
	return 1
}

// KeysIn returns the keys in the words of the call's command.
func (w *WaitingLock) KeysIn(argv [][]byte) [][]byte {
	if w.kind == waitsForManyUnits {
		keys := make([][]byte, w.number)
		for i := range keys {
			keys[i] = argv[2+4*i] // each key is followed by its three terms
		}
		return keys
	}
	if w.Many() {
		return argv[2 : 2+w.number] // the keys follow numkeys
	}
	return argv[1:2]
}

// AppendTokens appends the tokens of the grants, in the order of the keys.
func (w *WaitingLock) AppendTokens(tokens []int64) []int64 {
	if w.grants != nil {
		for _, g := range *w.grants {
			tokens = append(tokens, g.token)
		}
	}
	return tokens
}

// lockGrant describes a grant to a call for one key.
type lockGrant struct {
	token   int64
	counted bool   // the call added a hold
	record  uint64 // the result of Host.Held; the key has another number once the hold was confirmed to another client
	permits int64  // for SEM.ACQUIRE
}

// notConfirmed is the record of a hold that was certainly not confirmed.
const notConfirmed = math.MaxUint64

// canBeGivenBack reports whether the grant added a hold that was not confirmed since. now is the key's
// present record.
func (g *lockGrant) canBeGivenBack(now uint64) bool {
	return g.counted && (now == g.record || now == 0 || g.record == notConfirmed)
}

// NotConfirmed says that the owner has not confirmed the grants of the call. So Undo gives them back even if
// another owner of the same lock has confirmed its own grant.
func (w *WaitingLock) NotConfirmed() {
	if w.grants != nil {
		for i := range *w.grants {
			(*w.grants)[i].record = notConfirmed
		}
	}
}
