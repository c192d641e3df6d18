package server

import (
	"fmt"
	"maps"
	"slices"
)

// permitWorld is locks, shared locks and semaphores as simple as can be. All waiters are in one list in the
// order in which they are served. A deadlock is found by trying every order in which the waiters could go on.
type permitWorld struct {
	nowMS   int64
	keys    map[string]*permitKey
	waiters []*permitCall
	agingMS int64 // in which a waiter gains a level; 0: never
}

// precedes reports whether a waiter is served before a later waiter.
func (w *permitWorld) precedes(c, later *permitCall) bool {
	if w.agingMS == 0 {
		return c.level >= later.level
	}
	return later.sinceMS-c.sinceMS >= (later.level-c.level)*w.agingMS
}

// placeOf is how many waiters are served before a call that begins to wait now.
func (w *permitWorld) placeOf(c *permitCall) (before int) {
	for _, other := range w.waiters {
		if w.precedes(other, c) {
			before++
		}
	}
	return before
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
	level        int64
	sinceMS      int64
}

func (c *permitCall) String() string {
	return fmt.Sprintf("%s by %s %v shared=%v permits=%d once=%v PX %d level=%d since=%d", fmt.Sprint("c", c.client), c.owner, c.keys, c.shared, c.permits, c.once, c.leaseMS, c.level, c.sinceMS)
}

func (w *permitWorld) clone() *permitWorld {
	c := &permitWorld{w.nowMS, make(map[string]*permitKey), slices.Clone(w.waiters), w.agingMS}
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

// canGo reports whether a call can go with these waiters before it.
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
		case c.shared && (h.shared == 0 || !c.once):
			h.shared++
		case !c.shared && (h.exclusive == 0 || !c.once):
			h.exclusive++
		}
		h.endMS = w.nowMS + c.leaseMS
	}
}

func (w *permitWorld) waits(owner string) bool {
	return slices.ContainsFunc(w.waiters, func(c *permitCall) bool { return c.owner == owner })
}

// release gives back a number of permits.
func (w *permitWorld) release(key, owner string, permits int64) {
	k := w.keys[key]
	h := k.holds[owner]
	if h.shared -= permits; h.shared == 0 {
		delete(k.holds, owner)
	}
}

// unlock gives back one hold of a lock, an exclusive one first, or a shared one if that is meant. It returns
// the reply.
func (w *permitWorld) unlock(key, owner string, shared bool) (reply string) {
	k := w.keys[key]
	h := k.holds[owner]
	switch {
	case h == nil, shared && h.shared == 0:
		return "$nil"
	case shared, h.exclusive == 0:
		h.shared--
	default:
		h.exclusive--
	}
	if h.exclusive > 0 || h.shared > 0 {
		return "0"
	}
	delete(k.holds, owner)
	return "1"
}

// outcome is the clients with a wait that has ended, and how.
type outcome struct{ granted, failed, refused []int }

// serve lets calls go until none can. It returns the world in which the calls ended as the server's did,
// and nil if no order leads there. The first call that can go does, if that is possible. Between keys the
// order is left open: an upgrade goes before waiters that came earlier, and with MLOCK both may have a
// turn in one unit. A refused call must be one that can never go. seen counts the calls by what they got.
func (w *permitWorld) serve(got outcome, seen map[string]int) *permitWorld {
	free := false
	for i, c := range w.waiters {
		if !w.canGo(c, w.waiters[:i]) {
			continue
		}
		free = true
		rest, ended := got.without(c.client, w.fails(c))
		if !ended {
			continue
		}
		next := w.clone()
		next.take(c)
		next.waiters = slices.Delete(next.waiters, i, i+1)
		if after := next.serve(rest, seen); after != nil {
			w.count(c, w.waiters[:i], seen)
			return after
		}
	}
	switch left := w.stuck(); {
	case free:
		return nil
	case len(got.refused) == 0:
		if len(got.granted)+len(got.failed) > 0 || len(w.stuckNow()) > 0 {
			return nil
		}
		return w
	default:
		return w.refuse(left, got, seen)
	}
}

// refuse is serve when no call can go and some were refused; left can never go.
func (w *permitWorld) refuse(left []*permitCall, got outcome, seen map[string]int) *permitWorld {
	for i, c := range slices.Backward(w.waiters) {
		at := slices.Index(got.refused, c.client)
		if at < 0 || !slices.Contains(left, c) {
			continue
		}
		next, rest := w.clone(), got
		next.waiters = slices.Delete(next.waiters, i, i+1)
		rest.refused = slices.Delete(slices.Clone(got.refused), at, at+1)
		if after := next.serve(rest, seen); after != nil {
			return after
		}
	}
	return nil
}

// without is the outcome of the other clients; false: the wait of this one did not end so.
func (o outcome) without(client int, fails bool) (rest outcome, ok bool) {
	of := &o.granted
	if fails {
		of = &o.failed
	}
	at := slices.Index(*of, client)
	if at < 0 {
		return o, false
	}
	*of = slices.Delete(slices.Clone(*of), at, at+1)
	return o, true
}

// count counts a call for serve. before are the waiters that came earlier.
func (w *permitWorld) count(c *permitCall, before []*permitCall, seen map[string]int) {
	kind := "exclusive"
	switch upgraded := slices.IndexFunc(c.keys, func(key string) bool {
		h := w.keys[key].holds[c.owner]
		return h != nil && h.exclusive == 0
	}); {
	case c.permits > 0:
		kind = "permits"
	case c.shared:
		kind = "shared"
	case upgraded >= 0:
		kind = "upgrade"
		if slices.ContainsFunc(before, func(b *permitCall) bool { return slices.Contains(b.keys, c.keys[upgraded]) }) {
			seen["upgrade before others"]++
		}
	}
	if len(c.keys) > 1 {
		kind = "MLOCK " + kind
	}
	seen[kind]++
}

// stuck returns the waiters that can never go, in whatever order the others do.
func (w *permitWorld) stuck() []*permitCall {
	gone := map[*permitCall]bool{}
	w.clone().play(gone, map[string]bool{})
	return slices.DeleteFunc(slices.Clone(w.waiters), func(c *permitCall) bool { return gone[c] })
}

// stuckNow returns the waiters that can never go, if every call for a lock can go for which its owner has an
// earlier one in the same queue. It is left open whether such a call comes before those that stand between
// the two, so a deadlock of it is there when the earlier one has gone.
func (w *permitWorld) stuckNow() []*permitCall {
	firsts := w.clone()
	firsts.waiters = firsts.waiters[:0]
	for i, c := range w.waiters {
		if c.permits > 0 || !slices.ContainsFunc(w.waiters[:i], func(b *permitCall) bool {
			return b.owner == c.owner && slices.ContainsFunc(b.keys, func(key string) bool { return slices.Contains(c.keys, key) })
		}) {
			firsts.waiters = append(firsts.waiters, c)
		}
	}
	return firsts.stuck()
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
