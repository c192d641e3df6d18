package commands

import (
	"lockserver/store"
	"lockserver/store/hash"
)

// A lease ends one millisecond after its deadline, as every key does. So the deadline of a lease is CeilNowMS
// plus its length, less 1 (LeaseEndMS). The lease then lasts its whole length, and no reply shows a longer
// time than was requested.

// LeaseLeftMS returns how many whole milliseconds a lease with this deadline has left.
func LeaseLeftMS(deadlineMS, nowUS int64) int64 { return max(0, deadlineMS+1-(nowUS+999)/1000) }

// KeyLeftMS returns how many whole milliseconds the key of a lock has left, or -1 if it has no deadline.
func KeyLeftMS(r store.Ref, nowUS int64) int64 {
	switch {
	case r.DeadlineMS() == 0:
		return -1
	case IsLease(r):
		return LeaseLeftMS(r.DeadlineMS(), nowUS)
	}
	return max(0, r.DeadlineMS()-nowUS/1000)
}

// IsLease reports whether the deadline of a key is the lease of one of our locks or semaphores. The deadline
// of a lock that is shared with Redisson's readers is not: Redisson's scripts set it, so it counts as in
// Redis.
func IsLease(r store.Ref) bool {
	if r.Kind() != store.Hash {
		return false
	}
	h := r.Hash()
	return h.Has([]byte(store.TokenField)) || h.Has([]byte(store.ShareField)) && !h.Has(modeField)
}

// AreLeases reports whether the deadlines of a hash's fields are the leases of holders.
func AreLeases(h *hash.Hash) bool {
	return h != nil && h.Timed() > 0 && h.Has([]byte(store.ShareField))
}
