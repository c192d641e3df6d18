//go:build simulation

package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// lock models a lock with a register that is written under GUARD. Time is that of the run: all clocks measure
// it alike, however wrong their dates are. A lease lasts at least for its length after the command was sent.
// It has no upper limit, because the end of a leader extends it. So a later command may find it over, or not.
type lock struct {
	holders []holder // by owner
	highest int64    // the highest token so far that a client got
	value   string
	// now is the latest time so far at which an operation was sent.
	now time.Duration
}

// holder is a holder of a lock.
type holder struct {
	owner         int
	alone, shared bool  // its holds: at most one of each kind, because of ONCE
	token         int64 // 0 means that no client got it
	// sure is the time until which the lease certainly lasts.
	sure time.Duration
}

// leaseSlack is how much too early a lease may end: a clock follows the machine's by one part in 2000.
func leaseSlack(lease time.Duration) time.Duration { return lease/1000 + 5*time.Millisecond }

func lockFamily() family {
	key := func(n int) string { return fmt.Sprintf("{lock:%d}", n) }
	about := aboutLock
	return family{name: "lock", keys: lockKeys, model: func() sequential { return lock{} }, prune: pruneLock,
		final: func(n int) *operation { return op(about(n), "read", "GET", key(n)+":data") },
		draw: func(c *client, n int) *operation {
			owner := fmt.Sprint("owner", c.number)
			var o *operation
			switch token := c.tokens[n]; c.chance.below(12) {
			case 0, 1, 2, 3:
				o = drawLock(c, n, key, owner)
			case 10, 11:
				o = op(about(n), "end waits", "LOCK.CANCEL", key(n), "")
				o.waiter = 1 + c.chance.below(5) // there are three to five clients
				o.words[2] = fmt.Sprint("owner", o.waiter)
			case 4, 5:
				o = op(about(n), "unlock", "UNLOCK", key(n), owner)
			case 6:
				o = op(about(n), "read", "GET", key(n)+":data")
			case 7:
				o = op(about(n), "renew", "RENEW", key(n), owner, "PX", "1000")
				o.lease = time.Second
			default:
				if token == 0 {
					return drawOwned(op(about(n), "read", "GET", key(n)+":data"), c)
				}
				o = op(about(n), "guard", "GUARD", key(n), strconv.FormatInt(token, 10), "SET", key(n)+":data", "")
				o.token, o.value = token, c.fresh()
				o.words[5] = o.value
			}
			return drawOwned(o, c)
		}}
}

// pruneLock leaves out operations that say nothing about a lock alone. checkCancels checks cancelled waits.
// An MLOCK may have been refused because of another lock. A LOCK may have been refused while the MLOCK of
// another owner waited, because an MLOCK keeps its place in the queue of a free lock.
func pruneLock(ops []*operation) []*operation {
	var several []*operation
	for _, o := range ops {
		if o.part && o.waits() {
			several = append(several, o)
		}
	}
	return slices.DeleteFunc(slices.Clone(ops), func(o *operation) bool {
		refused := o.acquires() && !o.unknown && o.reply.Kind != resp.Integer
		return o.what == "end waits" || refused && (o.part || slices.ContainsFunc(several, func(p *operation) bool {
			return p.owner != o.owner && p.asked < o.ret.event && p.ret.event > o.call.event
		}))
	})
}

func drawOwned(o *operation, c *client) *operation {
	o.owner = c.number
	return o
}

// lockKeys is the number of locks.
const lockKeys = 3

func aboutLock(n int) string { return fmt.Sprint("lock ", n) }

// acquires reports whether it is a LOCK or an MLOCK.
func (op *operation) acquires() bool { return op.what == "lock" || op.what == "share" }

// waits reports whether it may wait.
func (op *operation) waits() bool { return slices.Contains(op.words, "WAIT") }

// drawLock returns a random LOCK or MLOCK. With ONCE it can be repeated without harm.
func drawLock(c *client, n int, key func(n int) string, owner string) *operation {
	o := op(aboutLock(n), "lock", "LOCK", key(n), owner, "ONCE")
	if c.chance.oneIn(4) {
		o.locks = []int{n, (n + 1 + c.chance.below(lockKeys-1)) % lockKeys}
		o.words = []string{"MLOCK", "2", key(o.locks[0]), key(o.locks[1]), owner, "ONCE"}
	}
	if c.chance.oneIn(3) {
		o.what = "share"
		o.words = append(o.words, "SHARED")
	}
	if !c.chance.oneIn(4) {
		o.lease = time.Duration(one(c.chance, 300, 1000, 5000)) * time.Millisecond
		o.words = append(o.words, "PX", strconv.FormatInt(o.lease.Milliseconds(), 10))
	}
	if c.chance.oneIn(3) {
		o.words = append(o.words, "WAIT", strconv.Itoa(200+c.chance.below(800)))
	}
	return o
}

// String implements sequential. For a lease that may be over, the time of its end makes no difference.
func (l lock) String() string {
	text := fmt.Sprint(l.highest, l.value)
	for _, h := range l.holders {
		text += fmt.Sprint(" ", h.owner, h.alone, h.shared, h.token, max(0, h.sure-l.now))
	}
	return text
}

// without returns the lock without the chosen holders, if their leases may have ended by a moment. It returns
// false if one of them cannot have ended.
func (l lock) without(by time.Duration, which func(h *holder) bool) (lock, bool) {
	kept := make([]holder, 0, len(l.holders))
	for i := range l.holders {
		h := &l.holders[i]
		switch {
		case !which(h):
			kept = append(kept, *h)
		case h.sure > by:
			return l, false
		}
	}
	l.holders = kept
	return l, true
}

// find returns the holder with an owner, or false and an empty holder.
func (l lock) find(owner int) (h holder, ok bool) {
	for _, h := range l.holders {
		if h.owner == owner {
			return h, true
		}
	}
	return holder{owner: owner}, false
}

// with returns the lock with a new state of a holder.
func (l lock) with(h holder) lock {
	l.highest = max(l.highest, h.token)
	l.holders = slices.DeleteFunc(slices.Clone(l.holders), func(o holder) bool { return o.owner == h.owner })
	if h.alone || h.shared {
		l.holders = append(l.holders, h)
	}
	slices.SortFunc(l.holders, func(a, b holder) int { return a.owner - b.owner })
	return l
}

// ends returns the time until which a lease that a command begins certainly lasts. A lease that the server
// renews lasts while the connection lives, less the rest of the lease at that time. A grant that its client
// cannot have read is taken back.
func (op *operation) ends() time.Duration {
	switch {
	case op.unknown && op.waits():
		return 0
	case op.lease == 0:
		return op.broke.after - watchdogMS*time.Millisecond/2
	}
	return op.call.after + op.lease - leaseSlack(op.lease)
}

func (l lock) after(op *operation) []sequential {
	if !op.unknown {
		l.now = max(l.now, op.call.after)
	}
	switch op.what {
	case "read":
		return if1(l, op.unknown || op.reply.Str == l.value)
	case "lock", "share":
		return l.acquire(op)
	case "unlock":
		return l.release(op)
	case "renew":
		return l.renew(op)
	}
	return l.guard(op)
}

// mine reports whether a holder is the sender of a command.
func (op *operation) mine(h *holder) bool { return h.owner == op.owner }

// acquire models LOCK ... ONCE.
func (l lock) acquire(op *operation) (all []sequential) {
	if !op.unknown && op.reply.Kind != resp.Integer { // nil, or a deadlock: another owner holds it, or held it a moment ago
		return if1(l, slices.ContainsFunc(l.holders, func(h holder) bool { return !op.mine(&h) }))
	}
	share := op.what == "share"
	free, ok := l.without(op.ret.after, func(h *holder) bool { return !op.mine(h) && (h.alone || !share) })
	if h, had := l.find(op.owner); had && (ok || h.alone) {
		if h.alone {
			free = l
		}
		if share && h.shared || h.alone { // the same hold with a new lease
			h.alone, h.shared, h.sure = h.alone || !share, h.shared || share, op.ends()
			if op.unknown || h.token == 0 || h.token == op.reply.Int {
				h.token = max(h.token, op.reply.Int)
				all = append(all, free.with(h))
			}
		} else if op.unknown || op.reply.Int > l.highest { // an exclusive hold from now on
			h.alone, h.token, h.sure = true, op.reply.Int, op.ends()
			all = append(all, free.with(h))
		}
	}
	if free, over := free.without(op.ret.after, op.mine); ok && over && (op.unknown || op.reply.Int > l.highest) {
		all = append(all, free.with(holder{owner: op.owner, alone: !share, shared: share, token: op.reply.Int, sure: op.ends()}))
	}
	return all
}

// release models UNLOCK, which ends an exclusive hold first. Its reply is 1 for the last hold, 0 for one of
// two, and nil for none.
func (l lock) release(op *operation) (all []sequential) {
	h, had := l.find(op.owner)
	if over, ok := l.without(op.ret.after, op.mine); ok && (op.unknown || op.reply.IsNull()) {
		all = append(all, over)
	}
	if had && (op.unknown || !op.reply.IsNull()) {
		both := h.alone && h.shared
		h.shared, h.alone = both, false
		if op.unknown || op.reply.Int == 1 != both {
			all = append(all, l.with(h))
		}
	}
	return all
}

// renew models RENEW with a time. Its reply is 1 if the lease is extended, and 0 if the owner does not hold
// the lock.
func (l lock) renew(op *operation) (all []sequential) {
	h, had := l.find(op.owner)
	if over, ok := l.without(op.ret.after, op.mine); ok && (op.unknown || op.reply.Int == 0) {
		all = append(all, over)
	}
	if had && (op.unknown || op.reply.Int == 1) {
		h.sure = op.ends()
		all = append(all, l.with(h))
	}
	return all
}

// guard models GUARD ... SET: it runs while the lock is held exclusively with that token.
func (l lock) guard(op *operation) (all []sequential) {
	h, had := l.find(op.owner)
	current := had && h.alone && (h.token == op.token || h.token == 0)
	done := !op.reply.IsError()
	if current && (op.unknown || done) {
		h.token = op.token
		next := l.with(h)
		next.value = op.value
		all = append(all, next)
	}
	if op.unknown || !done {
		if !current || h.token == 0 {
			all = append(all, l)
		}
		if over, ok := l.without(op.ret.after, op.mine); ok && current {
			all = append(all, over)
		}
	}
	return all
}
