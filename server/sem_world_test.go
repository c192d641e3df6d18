package server

import (
	"fmt"
	"maps"
	"slices"
)

// permitWorld is locks, shared locks and semaphores as simple as can be. All waiters are in one list in the
// order of arrival. A deadlock is found by trying every order in which the waiters could go on.
type permitWorld struct {
	nowMS   int64
	keys    map[string]*permitKey
	waiters []*permitCall
}

// permitKey is a lock, or a semaphore if it has a limit.
type permitKey struct {
	limit int64
	holds map[string]*permitHold
}

// permitHold is what an owner has of it. Of a semaphore shared is the number of its permits.
type permitHold struct{ exclusive, shared, endMS int64 }

// permitCall is LOCK, MLOCK or SEM.ACQUIRE.
type permitCall struct {
	client       int
	owner        string
	keys         []string
	shared, once bool
	permits      int64 // 0: it wants locks
	leaseMS      int64
}

func (c *permitCall) String() string {
	return fmt.Sprintf("%s by %s %v shared=%v permits=%d once=%v PX %d", fmt.Sprint("c", c.client), c.owner, c.keys, c.shared, c.permits, c.once, c.leaseMS)
}

func (w *permitWorld) clone() *permitWorld {
	c := &permitWorld{w.nowMS, make(map[string]*permitKey), slices.Clone(w.waiters)}
	for name, k := range w.keys {
		copied := &permitKey{k.limit, make(map[string]*permitHold)}
		for owner, h := range k.holds {
			own := *h
			copied.holds[owner] = &own
		}
		c.keys[name] = copied
	}
	return c
}

// used is how many permits of a semaphore are in use.
func (k *permitKey) used() (sum int64) {
	for _, h := range k.holds {
		sum += h.shared
	}
	return sum
}

// fails reports whether a call asks for more permits than there are.
func (w *permitWorld) fails(c *permitCall) bool {
	k := w.keys[c.keys[0]]
	return c.permits > k.limit && k.lacks(c) > 0
}

// lacks is how many permits a call needs.
func (k *permitKey) lacks(c *permitCall) int64 {
	if h := k.holds[c.owner]; c.once && h != nil {
		return max(0, c.permits-h.shared)
	}
	return c.permits
}

// admits reports whether a key is the owner's to take, but for the queue; ahead: it need not queue.
func (w *permitWorld) admits(c *permitCall, key string) (ok, ahead bool) {
	k := w.keys[key]
	if c.permits > 0 {
		lacks := k.lacks(c)
		return w.fails(c) || lacks == 0 || k.used()+lacks <= k.limit, lacks == 0
	}
	if mine := k.holds[c.owner]; mine != nil {
		return mine.exclusive > 0 || c.shared || len(k.holds) == 1, true
	}
	if !c.shared {
		return len(k.holds) == 0, false
	}
	for _, h := range k.holds {
		if h.exclusive > 0 {
			return false, false
		}
	}
	return true, false
}

// canGo reports whether a call can go with so many waiters before it.
func (w *permitWorld) canGo(c *permitCall, before []*permitCall) bool {
	for _, key := range c.keys {
		ok, ahead := w.admits(c, key)
		queues := slices.ContainsFunc(before, func(b *permitCall) bool { return slices.Contains(b.keys, key) })
		if !ok || !ahead && queues {
			return false
		}
	}
	return true
}

// take gives a call what it wants, or nothing if it fails.
func (w *permitWorld) take(c *permitCall) {
	if w.fails(c) {
		return
	}
	for _, key := range c.keys {
		k := w.keys[key]
		h := k.holds[c.owner]
		if h == nil {
			h = &permitHold{}
			k.holds[c.owner] = h
		}
		switch {
		case c.permits > 0:
			h.shared += k.lacks(c)
		case c.shared:
			h.shared++
		default:
			h.exclusive++
		}
		h.endMS = w.nowMS + c.leaseMS
	}
}

func (w *permitWorld) waits(owner string) bool {
	return slices.ContainsFunc(w.waiters, func(c *permitCall) bool { return c.owner == owner })
}

// release gives back one hold of a lock, or so many permits.
func (w *permitWorld) release(key, owner string, permits int64) {
	k := w.keys[key]
	h := k.holds[owner]
	switch {
	case k.limit > 0:
		h.shared -= permits
	case h.exclusive > 0:
		h.exclusive--
	default:
		h.shared--
	}
	if h.exclusive == 0 && h.shared == 0 {
		delete(k.holds, owner)
	}
}

// serve lets everyone go that can, in the order of arrival.
func (w *permitWorld) serve() (granted, failed []int) {
	for i := 0; i < len(w.waiters); i++ {
		c := w.waiters[i]
		if !w.canGo(c, w.waiters[:i]) {
			continue
		}
		if w.fails(c) {
			failed = append(failed, c.client)
		} else {
			granted = append(granted, c.client)
		}
		w.take(c)
		w.waiters = slices.Delete(w.waiters, i, i+1)
		i = -1
	}
	return granted, failed
}

// stuck returns the waiters that can never go, in whatever order the others do.
func (w *permitWorld) stuck() []*permitCall {
	gone := map[*permitCall]bool{}
	w.clone().play(gone, map[string]bool{})
	return slices.DeleteFunc(slices.Clone(w.waiters), func(c *permitCall) bool { return gone[c] })
}

// play tries all orders. An owner that waits for nothing releases all it has.
func (w *permitWorld) play(gone map[*permitCall]bool, seen map[string]bool) {
	for _, k := range w.keys {
		maps.DeleteFunc(k.holds, func(owner string, _ *permitHold) bool { return !w.waits(owner) })
	}
	state := ""
	for _, key := range slices.Sorted(maps.Keys(w.keys)) {
		state += key
		for _, owner := range slices.Sorted(maps.Keys(w.keys[key].holds)) {
			h := w.keys[key].holds[owner]
			state += fmt.Sprint(" ", owner, h.exclusive > 0, h.shared)
		}
	}
	for _, c := range w.waiters {
		state += fmt.Sprint(" ", c.client)
	}
	if seen[state] {
		return
	}
	seen[state] = true
	for i, c := range w.waiters {
		if w.canGo(c, w.waiters[:i]) {
			gone[c] = true
			next := w.clone()
			next.take(c)
			next.waiters = slices.Delete(next.waiters, i, i+1)
			next.play(gone, seen)
		}
	}
}

// expire ends the leases that end at a time.
func (w *permitWorld) expire() {
	for _, k := range w.keys {
		maps.DeleteFunc(k.holds, func(_ string, h *permitHold) bool { return h.endMS <= w.nowMS })
	}
}

// nextMS is when the next lease ends, up to a time.
func (w *permitWorld) nextMS(untilMS int64) int64 {
	for _, k := range w.keys {
		for _, h := range k.holds {
			untilMS = min(untilMS, h.endMS)
		}
	}
	return untilMS
}
