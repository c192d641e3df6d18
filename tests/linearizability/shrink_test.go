package linearizability

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"lockserver/internal/shrink"
)

// A history that is no lock's has hundreds of operations, and it takes a few to see what is wrong. It
// cannot be had again, as it came from clients that ran at the same time, so it is the history itself that
// is shrunk: to the smallest part that the checker still refuses.
//
// Not any part will do: without its UNLOCK a proper history is none any more. What is left out is such that a
// lock's history stays one, so that the fault is in what is left:
//
//   - a key, with all that was done to it;
//   - what came after some moment; of what was under way the result is then unknown;
//   - an operation that changed nothing;
//   - a hold: all that took it, renewed it and ended it, and those operations that may have seen it.
//
// Where it is not certain which hold an operation belongs to, all that it may belong to are one.

// shrinkLimits bound the search; shrinkPatience is how long the checker may take for one part.
var shrinkLimits = shrink.Limits{Tries: 2000, Time: 30 * time.Second}

const shrinkPatience = 3 * time.Second

// shrunk is the part of a history that is refused.
type shrunk struct {
	ops  []porcupine.Operation
	text string // says what was left out
}

// shrinkHistory finds the smallest part of a refused history that is refused.
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

// onKeys is what a history did to some keys. Who was refused several keys at once may have been so for
// another's sake.
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

// firstRefused is what there was of a refused history when it could first be refused.
func firstRefused(ops []porcupine.Operation, refused func([]porcupine.Operation) bool) []porcupine.Operation {
	moments := make([]int64, len(ops))
	for i, p := range ops {
		moments[i] = p.Return
	}
	slices.Sort(moments)
	first := sort.Search(len(moments), func(i int) bool { return refused(until(ops, moments[i])) })
	if first == len(moments) { // the checker had no time to refuse the whole
		return ops
	}
	return until(ops, moments[first])
}

// until is what there was of a history at a moment. An operation that was under way has happened or not.
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

// inPlace is a part without waiters behind one that was left out.
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

// holds is who belongs together in a history.
type holds struct {
	ops    []porcupine.Operation
	spans  [][]hold // by key
	shares bool     // a lock was shared: see end
	parent []int    // by operation: the forest of a union-find; a root stands for all that belong together
}

// hold is one operation that took a key, or may have.
type hold struct {
	at       int // the operation
	owner    int
	shared   bool
	token    int64 // 0: no client got it
	from, to int64 // it was held at some time between these, if at all
}

// unit is what is left out together or not at all.
type unit struct {
	root  int
	needs []int // roots of the holds that an operation may have seen
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

// end finds when the holds of a key were over: when another owner had it, with a higher token if that is
// known. Where locks are shared, only another owner who had it alone shows that; and what one owner has at a
// time, with whichever tokens, is one.
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

// over records that an owner holds nothing of a lock that is shared once UNLOCK has said so.
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

// use joins UNLOCK and RENEW with the holds that they may have been about.
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

// about are the holds of an owner that an operation may have been about: none that was over before it,
// because the owner had taken the key anew. certain: they are all the same one.
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

// link joins what may be about the same hold.
func (h *holds) link(i int, op *operation) {
	p := h.ops[i]
	for _, k := range op.keys {
		for _, l := range h.spans[k] {
			overlaps := l.from <= p.Return && l.to >= p.Call
			switch {
			case (op.kind == remove || op.kind == force) && op.changes() && overlaps:
				h.join(i, l.at) // it ended one of these
			case op.kind == acquire && op.changes() && l.token != 0 && slices.Contains(op.values, l.token):
				h.join(i, l.at) // entered again
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

// enterAgain joins two holds of one owner if one may have entered the other again. That is so if no client
// got a reply, or the token has changed with the kind of the hold.
func (h *holds) enterAgain(spans []hold) {
	for _, l := range spans {
		for _, other := range spans {
			if (l.token == 0 || h.shares) && l.owner == other.owner && l.from <= other.to && l.to >= other.from {
				h.join(l.at, other.at)
			}
		}
	}
}

// changes says whether an operation did something, or may have.
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

// ofOwner says whether an operation is about an owner, and not about a lock.
func (op *operation) ofOwner() bool { return op.kind == attach || op.kind == detach }

func observers(ops []porcupine.Operation) (n int) {
	for _, p := range ops {
		if !p.Input.(*operation).changes() {
			n++
		}
	}
	return n
}

// units are the parts of the history that can be left out. FLUSHALL goes along with the holds that it may
// have ended, and LOCK.ATTACH with those of its owner.
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

// seen are the holds that may be why an operation was answered as it was.
func (h *holds) seen(i int, op *operation) (roots []int) {
	// An excuse (others stand in a queue) need not be one: who holds a lock enters it again past them.
	held := op.kind == acquire || len(op.holders) > 0 || op.kind == ttl && op.values[0] != -2
	if !held {
		return nil // without a hold it would be answered the same
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

// assemble is the history of some units: without those operations that may have seen what has been left out.
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

// touches says whether a FLUSHALL may have ended a hold that is kept, or a LOCK.ATTACH kept one alive.
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
