package linearizability

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"lockserver/tests/shrink"
)

// A refused history has hundreds of operations, and a few of them show what is wrong. It cannot be played
// again, because it came from clients that ran at the same time. So the history itself is shrunk, to the
// smallest part that the checker still refuses.
//
// A part must be chosen with care: without its UNLOCK a correct history becomes a wrong one. These parts may
// be left out, because a correct history stays correct without them, so that the fault is in the rest:
//
//   - a key, with all operations on it;
//   - everything after a moment; the result of operations that were running is then unknown;
//   - an operation that changed nothing;
//   - a hold: all operations that took, renewed and ended it, and those that may have seen it.
//
// If it is not certain to which hold an operation belongs, all possible holds count as one.

// shrinkLimits limits the search; shrinkPatience limits the checker's time for a part.
var shrinkLimits = shrink.Limits{Tries: 2000, Time: 30 * time.Second}

const shrinkPatience = 3 * time.Second

// shrunk is a refused part of a history.
type shrunk struct {
	ops  []porcupine.Operation
	text string // describes what was left out
}

// shrinkHistory finds the smallest refused part of a refused history.
func shrinkHistory(m porcupine.Model, ops []porcupine.Operation) shrunk {
	refused := func(part []porcupine.Operation) bool {
		return porcupine.CheckOperationsTimeout(m, inPlace(part), shrinkPatience) == porcupine.Illegal
	}
	keys := make([]int, maxKeys)
	for k := range keys {
		keys[k] = k
	}
	keys = shrink.Steps(keys, func(keys []int) bool { return refused(onKeys(ops, keys)) }, shrinkLimits)
	ofKeys := onKeys(ops, keys)
	early := firstRefused(ofKeys, refused)
	h := newHolds(early)
	r := shrink.Search(h.units(), func(part []unit) bool { return refused(h.assemble(part)) }, shrinkLimits)
	left := h.assemble(r.Steps)
	if !r.Reproduced {
		return shrunk{ops, "It could not be shrunk.\n"}
	}
	left = inPlace(left)
	var names []string
	for _, k := range keys {
		names = append(names, keyName(k))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Shrunk to %d of %d operations, all that it takes on %s.\n",
		len(left), len(ops), strings.Join(names, ", "))
	observed := observers(early) - observers(left)
	fmt.Fprintf(&b, "Left out: %d on other keys, %d that came later, %d that changed nothing, %d of other holds.\n",
		len(ops)-len(ofKeys), len(ofKeys)-len(early), observed, len(early)-len(left)-observed)
	if !r.Minimal {
		b.WriteString("More could be left out, but there was no time to find out what.\n")
	}
	return shrunk{left, b.String()}
}

// onKeys returns the operations on some keys. An operation that was refused several keys at once may have
// been refused because of another key.
func onKeys(ops []porcupine.Operation, keys []int) []porcupine.Operation {
	if len(keys) == maxKeys {
		return ops
	}
	var part []porcupine.Operation
	for _, p := range ops {
		op := p.Input.(*operation)
		if op.kind == flush || op.kind == takeBack || op.ofOwner() {
			part = append(part, p)
			continue
		}
		less := *op
		less.keys, less.values = nil, nil
		for i, k := range op.keys {
			if !slices.Contains(keys, k) {
				continue
			}
			less.keys = append(less.keys, k)
			if len(op.values) > i {
				less.values = append(less.values, op.values[i])
			}
		}
		if len(less.keys) == 0 || len(less.keys) < len(op.keys) && (op.refused || op.deadlock) {
			continue
		}
		p.Input = &less
		part = append(part, p)
	}
	return part
}

// firstRefused returns the refused history up to the first moment at which it is refused.
func firstRefused(ops []porcupine.Operation, refused func([]porcupine.Operation) bool) []porcupine.Operation {
	moments := make([]int64, len(ops))
	for i, p := range ops {
		moments[i] = p.Return
	}
	slices.Sort(moments)
	first := sort.Search(len(moments), func(i int) bool { return refused(until(ops, moments[i])) })
	if first == len(moments) { // the checker had no time to refuse the whole history
		return ops
	}
	return until(ops, moments[first])
}

// until returns a history up to a moment. The outcome of an operation that was running is unknown.
func until(ops []porcupine.Operation, moment int64) []porcupine.Operation {
	var part []porcupine.Operation
	for _, p := range ops {
		op := p.Input.(*operation)
		switch {
		case p.Call > moment || p.Return > moment && !op.changes():
			continue
		case p.Return > moment && !op.unknown:
			underWay := *op
			underWay.unknown, underWay.values = true, nil
			p.Input = &underWay
		}
		part = append(part, p)
	}
	return part
}

// inPlace returns a part in which no operation is behind a waiter that was left out.
func inPlace(part []porcupine.Operation) []porcupine.Operation {
	there := uint64(0)
	for _, p := range part {
		there |= p.Input.(*operation).place
	}
	part = slices.Clone(part)
	for i := range part {
		if op := part[i].Input.(*operation); op.behind&^there != 0 {
			freed := *op
			freed.behind &= there
			part[i].Input = &freed
		}
	}
	return part
}

// holds groups the operations that belong to the same hold.
type holds struct {
	ops    []porcupine.Operation
	spans  [][]hold // by key
	shares bool     // a lock had shared holders: see end
	parent []int    // by operation: the forest of a union-find; the operations of a tree belong together
}

// hold is an operation that took a key, or may have.
type hold struct {
	at       int // index of the operation
	owner    int
	shared   bool
	token    int64 // 0 means that no client got it
	from, to int64 // it was held at most between these times
}

// unit is a set of operations that are left out together or not at all.
type unit struct {
	root  int
	needs []int // roots of the holds that its operations may have seen
}

func newHolds(ops []porcupine.Operation) *holds {
	h := &holds{ops: ops, spans: make([][]hold, maxKeys), parent: make([]int, len(ops))}
	for i := range ops {
		h.parent[i] = i
	}
	for i := range ops {
		if op := h.op(i); op.kind == acquire && !op.refused && !op.deadlock {
			h.take(i, op)
			h.shares = h.shares || op.shared
		}
	}
	for k := range h.spans {
		slices.SortStableFunc(h.spans[k], func(a, b hold) int { return int(min(max(a.from-b.from, -1), 1)) })
		h.end(k)
	}
	for i := range ops {
		h.over(i, h.op(i))
	}
	for i := range ops {
		h.use(i, h.op(i))
	}
	for i := range ops {
		h.link(i, h.op(i))
	}
	for _, spans := range h.spans {
		h.enterAgain(spans)
	}
	return h
}

func (h *holds) op(i int) *operation { return h.ops[i].Input.(*operation) }

func (h *holds) root(i int) int {
	for h.parent[i] != i {
		i = h.parent[i]
	}
	return i
}

func (h *holds) join(i, j int) { h.parent[h.root(i)] = h.root(j) }

// take records the holds that an operation began.
func (h *holds) take(i int, op *operation) {
	for n, k := range op.keys {
		l := hold{at: i, owner: op.owner, shared: op.shared, from: h.ops[i].Call, to: ever}
		if !op.unknown {
			l.token = op.values[n]
		}
		h.spans[k] = append(h.spans[k], l)
	}
}

// end finds the end of each hold of a key: the time when another owner had it, with a higher token if that is
// known. If locks are shared, only another exclusive owner shows that. Then all holds of an owner up to that
// time count as one, with any token.
func (h *holds) end(key int) {
	for i := range h.spans[key] {
		l := &h.spans[key][i]
		for _, next := range h.spans[key] {
			after := next.token > l.token
			if l.token == 0 {
				after = next.token != 0 && next.owner != l.owner && next.from > h.ops[l.at].Return
			}
			if h.shares && (next.shared || next.owner == l.owner) {
				after = false
			}
			if after {
				l.to = min(l.to, h.ops[next.at].Return)
			}
		}
	}
}

// over records that UNLOCK has said that an owner holds nothing of a shared lock.
func (h *holds) over(i int, op *operation) {
	if !h.shares || op.kind != release || op.unknown {
		return
	}
	p := h.ops[i]
	for n, k := range op.keys {
		for at := range h.spans[k] {
			if l := &h.spans[k][at]; op.values[n] == 1 && l.owner == op.owner && h.ops[l.at].Return <= p.Call {
				l.to = min(l.to, p.Return)
			}
		}
	}
}

// use joins UNLOCK and RENEW with the holds to which they may belong.
func (h *holds) use(i int, op *operation) {
	if op.kind != release && op.kind != renew || !op.changes() {
		return
	}
	p := h.ops[i]
	for n, k := range op.keys {
		about, certain := h.about(k, op.owner, p)
		for _, at := range about {
			h.join(i, h.spans[k][at].at)
			if op.kind == release && !op.unknown && op.values[n] == 1 && certain {
				l := &h.spans[k][at]
				l.to = min(l.to, p.Return)
			}
		}
	}
}

// about returns the holds of an owner to which an operation may belong. A hold does not count if the owner
// has taken the key again before the operation. certain says that all of them are the same hold.
func (h *holds) about(key, owner int, p porcupine.Operation) (at []int, certain bool) {
	latest := int64(0)
	for _, l := range h.spans[key] {
		if l.owner == owner && h.ops[l.at].Return <= p.Call {
			latest = max(latest, l.token)
		}
	}
	certain = true
	for i, l := range h.spans[key] {
		if l.owner != owner || l.from > p.Return || l.to < p.Call ||
			!h.shares && l.token != 0 && l.token < latest {
			continue
		}
		certain = certain && l.token == latest
		at = append(at, i)
	}
	return at, certain
}

// link joins operations that may belong to the same hold.
func (h *holds) link(i int, op *operation) {
	p := h.ops[i]
	for _, k := range op.keys {
		for _, l := range h.spans[k] {
			overlaps := l.from <= p.Return && l.to >= p.Call
			switch {
			case (op.kind == remove || op.kind == force) && op.changes() && overlaps:
				h.join(i, l.at) // it ended one of these holds
			case op.kind == acquire && op.changes() && l.token != 0 && slices.Contains(op.values, l.token):
				h.join(i, l.at) // it added a hold
			}
		}
	}
	if op.kind != takeBack {
		return
	}
	for j := range h.ops {
		if other := h.op(j); other.kind == acquire && other.unknown && other.conn == op.undoes {
			h.join(i, j)
		}
	}
}

// enterAgain joins two holds of an owner if one may be a re-entry of the other. That is possible if no client
// got a reply, or if the token has changed with the kind of the hold.
func (h *holds) enterAgain(spans []hold) {
	for _, l := range spans {
		for _, other := range spans {
			if (l.token == 0 || h.shares) && l.owner == other.owner && l.from <= other.to && l.to >= other.from {
				h.join(l.at, other.at)
			}
		}
	}
}

// changes reports whether an operation had an effect, or may have had one.
func (op *operation) changes() bool {
	switch op.kind {
	case acquire:
		return !op.refused && !op.deadlock
	case release:
		return op.unknown || slices.Max(op.values) != none
	case renew, remove, force:
		return op.unknown || op.values[0] == 1
	case flush, takeBack, attach, detach:
		return true
	}
	return false
}

// ofOwner reports whether an operation is about an owner, and not about a lock.
func (op *operation) ofOwner() bool { return op.kind == attach || op.kind == detach }

func observers(ops []porcupine.Operation) (n int) {
	for _, p := range ops {
		if !p.Input.(*operation).changes() {
			n++
		}
	}
	return n
}

// units returns the parts of the history that can be left out. FLUSHALL goes with the holds that it may have
// ended, and LOCK.ATTACH with those of its owner.
func (h *holds) units() []unit {
	var list []unit
	for i := range h.ops {
		op := h.op(i)
		switch {
		case op.kind == flush || op.ofOwner() || h.root(i) != i:
		case op.changes():
			list = append(list, unit{root: i})
		default:
			list = append(list, unit{root: i, needs: h.seen(i, op)})
		}
	}
	return list
}

// seen returns the holds that may be the reason for an operation's reply.
func (h *holds) seen(i int, op *operation) (roots []int) {
	// An excuse (other waiters in a queue) may not be the reason: the holder of a lock enters it again past
	// them.
	held := op.kind == acquire || len(op.holders) > 0 || op.kind == ttl && op.values[0] != -2
	if !held {
		return nil // without a hold the reply would be the same
	}
	for _, k := range op.keys {
		for _, l := range h.spans[k] {
			if l.from > h.ops[i].Return || l.to < h.ops[i].Call ||
				len(op.holders) > 0 && !op.shows(l.owner) || op.kind == acquire && l.owner == op.owner {
				continue
			}
			roots = append(roots, h.root(l.at))
		}
	}
	return roots
}

// assemble returns the history of some units, without the operations that may have seen units that were left
// out.
func (h *holds) assemble(part []unit) (ops []porcupine.Operation) {
	kept := make(map[int]bool)
	for _, u := range part {
		kept[u.root] = u.needs == nil
	}
	for _, u := range part {
		lacks := slices.ContainsFunc(u.needs, func(root int) bool { return !kept[root] })
		kept[u.root] = !lacks
	}
	for i, p := range h.ops {
		if op := h.op(i); (op.kind == flush || op.ofOwner()) && h.touches(p, op, kept) || kept[h.root(i)] {
			ops = append(ops, p)
		}
	}
	return ops
}

// touches reports whether a FLUSHALL may have ended a hold that is kept, or a LOCK.ATTACH may have kept it
// alive.
func (h *holds) touches(p porcupine.Operation, op *operation, kept map[int]bool) bool {
	for _, spans := range h.spans {
		for _, l := range spans {
			if kept[h.root(l.at)] && op.ofOwner() {
				if l.owner == op.owner {
					return true
				}
				continue
			}
			if kept[h.root(l.at)] && l.from <= p.Return && l.to >= p.Call {
				return true
			}
		}
	}
	return false
}
