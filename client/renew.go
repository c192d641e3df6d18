package client

import (
	"context"
	"time"
)

// Renew sets the end of a lock with a [Lease] to d from now, whatever it was before. It fails with a
// [*LostError] if the lock is lost, and with [ErrReleased] after Unlock. The server renews a lock without a
// lease: Renew refuses such a lock with [ErrValue]. If there was no answer the program still counts on the
// former end.
func (l *Lock) Renew(ctx context.Context, d time.Duration) error {
	h, keys := l.held.hold, l.held.keys
	lease := d.Truncate(time.Millisecond)
	switch {
	case lease <= 0:
		return bad("a lease of %v is less than a millisecond", d)
	case h.lease == 0:
		return bad("a lock that the server renews has no lease")
	case len(keys) != len(h.keys):
		return bad("the lock is one of %d that have one lease", len(h.keys))
	}
	if err := l.held.over(); err != nil {
		return err
	}
	began := time.Now()
	for i, key := range h.keys {
		n, err := h.task.client.number(ctx, []string{renewalOf(h.permits), key, h.task.owner, "PX", decimal(lease.Milliseconds()),
			"TOKEN", decimal(h.tokens[i])})
		if err != nil {
			return err
		}
		if n != 1 {
			h.lose(key, h.tokens[i], stale)
			return l.held.over()
		}
	}
	h.expires(began.Add(lease))
	return l.held.over()
}

// expires makes the hold count as lost at a time, if it has a lease.
func (h *hold) expires(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || h.locks == nil {
		return
	}
	if h.expiry != nil {
		h.expiry.Stop()
	}
	h.until = at
	h.expiry = time.AfterFunc(time.Until(at), func() {
		h.mu.Lock()
		later := time.Until(h.until) > 0 // it was renewed after this function had begun
		h.mu.Unlock()
		if !later {
			h.lose(h.keys[0], h.tokens[0], expired)
		}
	})
}

// Remaining returns how long the client knows the lock to be held; 0: it is not held. It does not ask the
// server. For a lock with a [Lease] it is the rest of the lease. For a lock that the server renews it is the
// time until the lock counts as "unreachable", if the server is silent from now on.
func (l *Lock) Remaining() time.Duration {
	h := l.held.hold
	if l.held.over() != nil {
		return 0
	}
	k := h.task.client.keeper
	k.mu.Lock()
	until := h.shard.answered.Add(k.sureFor())
	if h.unsure != nil {
		until = h.sureUntil
	}
	k.mu.Unlock()
	if h.lease != 0 {
		h.mu.Lock()
		until = h.until
		h.mu.Unlock()
	}
	return max(0, time.Until(until))
}
