package client

import (
	"context"
	"time"
)

// Renew has a lock with a [Lease] end in d from now, whatever it was to be. It fails with a [*LostError]
// if the lock is lost, and with [ErrReleased] after Unlock. A lock without a lease is renewed by the
// server: to renew it is refused with [ErrValue]. If there was no answer the lock ends as before, as far
// as the program knows.
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

// expires has the hold be lost at a time, if it has a lease.
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
		later := time.Until(h.until) > 0 // it was renewed when this had begun
		h.mu.Unlock()
		if !later {
			h.lose(h.keys[0], h.tokens[0], expired)
		}
	})
}

// Remaining is for how long the client knows that the lock is held; 0: it is not held. It asks no server.
// Of a lock with a [Lease] that is the rest of it. A lock that the server renews has this long until it
// counts as "unreachable", if the server is silent from now on.
func (l *Lock) Remaining() time.Duration {
	h := l.held.hold
	if l.held.over() != nil {
		return 0
	}
	k := h.task.client.keeper
	k.mu.Lock()
	until := k.answered.Add(k.sureFor())
	k.mu.Unlock()
	if h.lease != 0 {
		h.mu.Lock()
		until = h.until
		h.mu.Unlock()
	}
	return max(0, time.Until(until))
}
