//go:build simulation

package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockserver/internal/resp"
)

// lock is one with a register that is written under GUARD. Time is that of the run, which all clocks measure
// alike, however wrong what they show is. A lease lasts for at least as long as it says after the command was
// sent. How much longer is not said, since a leader's end makes it longer; so who comes later may find it
// over, or not.
type lock struct {
	holders []holder // by owner
	highest int64    // the highest token so far that a client got
	value   string
	// now is the latest time at which an operation so far was sent.
	now time.Duration
}

// holder is who has a lock.
type holder struct {
	owner         int
	alone, shared bool  // the holds: at most one of each kind, with ONCE
	token         int64 // 0: no client got it
	// sure is until when the lease lasts for certain.
	sure time.Duration
}

// leaseSlack is what a lease may end before its time: a clock follows the machine's by one part in 2000.
func leaseSlack(lease time.Duration) time.Duration { return lease/1000 + 5*time.Millisecond }

func lockFamily() family {
	key := func(n int) string { return fmt.Sprint("lock:", n) }
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

// pruneLock leaves out what says nothing about a lock alone. Waits that are cancelled have checkCancels.
// An MLOCK may have been refused because of another lock. A LOCK may have been refused while the MLOCK of
// another owner waited, because that keeps its place in the queue of a lock that is free.
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

// lockKeys is how many locks there are.
const lockKeys = 3

func aboutLock(n int) string { return fmt.Sprint("lock ", n) }

// acquires reports whether it is a LOCK, or an MLOCK.
func (op *operation) acquires() bool { return op.what == "lock" || op.what == "share" }

// waits reports whether it may wait.
func (op *operation) waits() bool { return slices.Contains(op.words, "WAIT") }

// drawLock is a LOCK or an MLOCK of one kind or another. ONCE makes it safe to be asked again.
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

// String implements sequential. When a lease that may be over was to end makes no difference.
func (l lock) String() string {
	text := fmt.Sprint(l.highest, l.value)
	for _, h := range l.holders {
		text += fmt.Sprint(" ", h.owner, h.alone, h.shared, h.token, max(0, h.sure-l.now))
	}
	return text
}

// without returns the lock without some of its holders, with leases that have ended by a moment; false: one
// of them cannot have.
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

// find returns who an owner is among the holders; false: it is not, and h is empty.
func (l lock) find(owner int) (h holder, ok bool) {
	for _, h := range l.holders {
		if h.owner == owner {
			return h, true
		}
	}
	return holder{owner: owner}, false
}

// with is the lock with a holder as it is now.
func (l lock) with(h holder) lock {
	l.highest = max(l.highest, h.token)
	l.holders = slices.DeleteFunc(slices.Clone(l.holders), func(o holder) bool { return o.owner == h.owner })
	if h.alone || h.shared {
		l.holders = append(l.holders, h)
	}
	slices.SortFunc(l.holders, func(a, b holder) int { return a.owner - b.owner })
	return l
}

// ends is until when a lease that a command begins lasts for certain. One that the server renews does while
// the connection is there, less what may be left of it then. A grant that its client cannot have read is
// taken back.
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

// mine is whether a holder is who has sent a command.
func (op *operation) mine(h *holder) bool { return h.owner == op.owner }

// acquire is LOCK ... ONCE.
func (l lock) acquire(op *operation) (all []sequential) {
	if !op.unknown && op.reply.Kind != resp.Integer { // nil, or a deadlock: another has it, or had it a moment ago
		return if1(l, slices.ContainsFunc(l.holders, func(h holder) bool { return !op.mine(&h) }))
	}
	share := op.what == "share"
	free, ok := l.without(op.ret.after, func(h *holder) bool { return !op.mine(h) && (h.alone || !share) })
	if h, had := l.find(op.owner); had && (ok || h.alone) {
		if h.alone {
			free = l
		}
		if share && h.shared || h.alone { // as it is, but for the lease
			h.alone, h.shared, h.sure = h.alone || !share, h.shared || share, op.ends()
			if op.unknown || h.token == 0 || h.token == op.reply.Int {
				h.token = max(h.token, op.reply.Int)
				all = append(all, free.with(h))
			}
		} else if op.unknown || op.reply.Int > l.highest { // alone from now on
			h.alone, h.token, h.sure = true, op.reply.Int, op.ends()
			all = append(all, free.with(h))
		}
	}
	if free, over := free.without(op.ret.after, op.mine); ok && over && (op.unknown || op.reply.Int > l.highest) {
		all = append(all, free.with(holder{owner: op.owner, alone: !share, shared: share, token: op.reply.Int, sure: op.ends()}))
	}
	return all
}

// release is UNLOCK: 1 the last hold, 0 one of two, nil none. That for oneself alone goes first.
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

// renew is RENEW with a time: 1 it is extended, 0 it is not the owner's.
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

// guard is GUARD ... SET: it happens while the lock is held alone with that token.
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
