package sales

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"lockserver/tests/shrink"
)

// A refused history has more than a hundred operations, and a few of them show what is wrong. It cannot be
// played again, because it came from clients that ran at the same time. So the history itself is shrunk, to
// the smallest part that the checker still refuses. A correct history stays correct if these parts are left
// out:
//
//   - everything after a moment;
//   - an order, with all operations on it, and the replies that may depend on it;
//   - an operation that changed nothing;
//   - the stock: then there is always enough, and refused calls are left out.
//
// Without an order there is more stock, so no operation that shows the stock or takes from it stays, either.

// shrinkLimits limits the search; shrinkPatience limits the checker's time for a part.
var shrinkLimits = shrink.Limits{Tries: 1000, Time: 20 * time.Second}

const (
	shrinkPatience = time.Second
	// plenty is a stock that never runs out.
	plenty = 1_000_000
)

// trial is a history with a model and its first state.
type trial struct {
	terms  terms
	begin  state
	end    state // the state of the last audit in the history
	ops    []*operation
	plenty bool // the stock does not matter
}

func (tr *trial) operations() []porcupine.Operation {
	list := make([]porcupine.Operation, 0, len(tr.ops))
	for _, op := range tr.ops {
		list = append(list, porcupine.Operation{ClientId: op.client, Input: op, Call: op.call, Return: op.ret})
	}
	return list
}

func (tr *trial) check(patience time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(tr.terms.porcupine(tr.begin), tr.operations(), patience)
}

// unit is a part that is left out as a whole or not at all: an order, or an operation that changed nothing.
type unit struct {
	order string
	op    *operation
}

// shrink returns the smallest refused part of a refused history, and describes what was left out.
func (tr *trial) shrink() (*trial, string) {
	refused := func(part *trial) bool { return part.check(shrinkPatience) == porcupine.Illegal }
	whole := *tr
	whole.plenty = true
	whole.ops = tr.firstRefused(refused)
	units := whole.units()
	if !refused(whole.assemble(units)) {
		whole.plenty = false
	}
	fails := func(part []unit) bool { return refused(whole.assemble(part)) }
	r := shrink.Search(units, fails, shrinkLimits)
	if !r.Reproduced {
		return tr, "It could not be shrunk.\n"
	}
	left := whole.assemble(r.Steps)
	text := fmt.Sprintf("Shrunk to %d of %d operations.", left.commands(), tr.commands())
	if whole.plenty {
		text += " The stock does not matter."
	}
	if !r.Minimal {
		text += " More could be left out, but there was no time to find out what."
	}
	return left, text + "\n"
}

// firstRefused returns the refused history up to the first moment at which it is refused.
func (tr *trial) firstRefused(refused func(*trial) bool) []*operation {
	var moments []int64
	for _, op := range tr.ops {
		moments = append(moments, op.ret)
	}
	slices.Sort(moments)
	first := sort.Search(len(moments), func(i int) bool {
		return refused(&trial{terms: tr.terms, begin: tr.begin, ops: tr.until(moments[i])})
	})
	if first == len(moments) { // the checker had no time to refuse the whole history
		return tr.ops
	}
	return tr.until(moments[first])
}

// until returns the history up to a moment. The outcome of an operation that was running is unknown.
func (tr *trial) until(moment int64) (part []*operation) {
	for _, op := range tr.ops {
		changes := op.decides() || op.kind == tick || op.kind == restock
		switch {
		case op.call > moment || op.ret > moment && !changes:
			continue
		case op.ret > moment:
			other := *op
			other.unknown = true
			op = &other
		}
		part = append(part, op)
	}
	return part
}

// commands returns the number of operations, without the moves of the clock.
func (tr *trial) commands() (n int) {
	for _, op := range tr.ops {
		if op.kind != tick {
			n++
		}
	}
	return n
}

// decides reports whether an operation created or changed an order, or may have. A repetition has the same
// words as the call that created the order.
func (op *operation) decides() bool {
	switch op.kind {
	case sell:
		return op.unknown || op.reply == "0"
	case confirm, cancel, extend:
		return op.unknown || op.reply == "1"
	}
	return false
}

// retries returns the calls for orders that had certainly been created before: they changed nothing.
func (tr *trial) retries() map[*operation]bool {
	made := map[string]int64{} // the time when the first call that created the order, or found it, returned
	for _, o := range tr.begin.orders {
		made[o.id] = 0
	}
	for _, op := range tr.ops {
		if first, ok := made[op.order]; op.kind == sell && op.reply == "0" && (!ok || op.ret < first) {
			made[op.order] = op.ret
		}
	}
	retries := map[*operation]bool{}
	for _, op := range tr.ops {
		first, ok := made[op.order]
		retries[op] = op.kind == sell && op.reply == "0" && ok && op.call > first
	}
	return retries
}

// units returns the parts that can be left out. RESTOCK and moves of the clock belong to no part.
func (tr *trial) units() (list []unit) {
	orders, retries := map[string]bool{}, tr.retries()
	for _, o := range tr.begin.orders {
		orders[o.id] = true
	}
	for _, op := range tr.ops {
		if op.decides() {
			orders[op.order] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(orders)) {
		list = append(list, unit{order: id})
	}
	for _, op := range tr.ops {
		if (!op.decides() || retries[op]) && op.kind != restock && op.kind != tick {
			list = append(list, unit{op: op})
		}
	}
	return list
}

// assemble returns the history of some units.
func (tr *trial) assemble(part []unit) *trial {
	kept, answers := map[string]bool{}, map[*operation]bool{}
	for _, u := range part {
		if u.op == nil {
			kept[u.order] = true
		} else {
			answers[u.op] = true
		}
	}
	all := true // all orders of a user, or all orders
	missing := map[string]bool{}
	lacks := func(id, user string) {
		if !kept[id] {
			all, missing[user] = false, true
		}
	}
	for _, o := range tr.begin.orders {
		lacks(o.id, o.user)
	}
	for _, op := range tr.ops {
		if op.decides() {
			lacks(op.order, op.user)
		}
	}
	left := &trial{terms: tr.terms, begin: tr.begin.restricted(kept), end: tr.end, plenty: tr.plenty}
	if tr.plenty {
		left.begin.stock = plenty
	}
	stocked, retries := all && !tr.plenty, tr.retries()
	for _, op := range tr.ops {
		switch {
		case op.kind == tick, op.decides() && kept[op.order] && (!retries[op] || answers[op]):
			left.ops = append(left.ops, op)
		case op.kind == restock && stocked, op.kind == restock && op.qty > 0 && !tr.plenty:
			left.ops = append(left.ops, op.unless(stocked))
		case !answers[op] || op.decides():
		case op.kind == audit && !stocked:
			left.ops = append(left.ops, op.about(kept, tr.end))
		case op.kind == look, op.kind == sell && op.answer() == "1":
			if stocked {
				left.ops = append(left.ops, op)
			}
		case op.kind == sell && op.answer() == "2" && missing[op.user], op.isAboutItsOrder() && !kept[op.order]:
		default:
			left.ops = append(left.ops, op)
		}
	}
	left.begin = left.begin.done()
	return left
}

// isAboutItsOrder reports whether a refusal says something of the order that the call names.
func (op *operation) isAboutItsOrder() bool {
	if op.kind != sell {
		return strings.HasPrefix(op.reply, "-")
	}
	return op.reply == belongsTo(op.order) || op.reply == notACart(op.order) || op.answer() == "5" || strings.HasSuffix(op.reply, " 5]")
}

// unless returns the operation with any reply, unless the reply is known.
func (op *operation) unless(known bool) *operation {
	if known {
		return op
	}
	other := *op
	other.anyReply = true
	return &other
}

// about returns an audit that checks only some orders.
func (op *operation) about(kept map[string]bool, end state) *operation {
	other := *op
	other.only, other.reply = kept, end.ordersText(kept)
	return &other
}

// restricted returns the state with only some of its orders; the pieces of the others are not sold.
func (s state) restricted(kept map[string]bool) state {
	orders := s.orders
	s.orders = nil
	for _, o := range orders {
		switch {
		case kept[o.id]:
			s.orders = append(s.orders, o)
		case o.state != "gone":
			s.stock += o.qty
		}
	}
	return s.done()
}

// ordersText returns the states of some orders as text.
func (s state) ordersText(kept map[string]bool) string {
	var b strings.Builder
	for _, o := range s.orders {
		if kept[o.id] {
			b.WriteString(o.text)
		}
	}
	return b.String()
}

// lines returns the operations of a report by the time of their calls. Consecutive moves of the clock are one
// line.
func lines(ops []*operation) string {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b *operation) int { return int(a.call - b.call) })
	var b strings.Builder
	passed := 0
	for i, op := range ops {
		if op.kind == tick {
			if passed++; i+1 == len(ops) || ops[i+1].kind != tick {
				fmt.Fprintf(&b, "  %d ms pass\n", passed)
				passed = 0
			}
			continue
		}
		fmt.Fprintf(&b, "  %s\n", op)
	}
	return b.String()
}
