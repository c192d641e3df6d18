package client

import (
	"cmp"
	"context"
	"fmt"
)

// mostReason is how long the reason of Ask may be on the server, in bytes.
const mostReason = 1024

// Ask asks the holders of a lock, or of permits of a semaphore, to let go (LOCK.ASK). Each of them gets the
// reason by [Lock.Asked], and decides what to do. heard is how many clients got it; 0: the lock is free, or
// no holder listens. It is sent once, over the client's own connection: after an error of the connection the
// holders may have been asked or not.
func (c *Client) Ask(ctx context.Context, key, reason string) (heard int, err error) {
	var long error
	if len(reason) > mostReason {
		long = bad("a reason of %d bytes, and not %d at most", len(reason), mostReason)
	}
	if err := cmp.Or(named("a key", key), long); err != nil {
		return 0, err
	}
	words := []string{"LOCK.ASK", key}
	if reason != "" {
		words = append(words, "REASON", reason)
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, ErrNoAnswer)
	defer cancel()
	reply, err := c.keeper.sendOnce(limited, key, words)
	if err != nil {
		return 0, replied(err)
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("LOCK.ASK: the reply is %v, no number", reply)
	}
	return int(n), nil
}

// Asked returns a channel with the reason of the last [Client.Ask] that was not received yet: another client
// would like to have the lock. The lock stays as it is. The channel is never closed.
func (l *Lock) Asked() <-chan string { return l.held.asked }

// Asked is [Lock.Asked] of permits.
func (p *Permit) Asked() <-chan string { return p.lock.Asked() }

// wasAsked handles the push that a holder is asked to let go.
func (k *keeper) wasAsked(lock lockName, reason string) {
	k.mu.Lock()
	h := k.holds[lock]
	if h == nil {
		if len(k.early) >= mostStrays {
			clear(k.early)
		}
		k.early[lock] = reason
	}
	k.mu.Unlock()
	if h != nil {
		h.ask(reason)
	}
}

// ask gives the reason to all Locks of the hold, in place of a former one.
func (h *hold) ask(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.locks {
		select {
		case <-l.asked:
		default:
		}
		l.asked <- reason
	}
}
