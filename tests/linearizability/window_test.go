package linearizability

import (
	"cmp"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// operations returns the history for the checker, with everything that follows from the whole history.
//
// The checker tries orders, and there are more of them the longer operations overlap. Operations that wait
// overlap with all others. So each gets the narrowest window in which it can have taken effect, by rules of
// the model: not before the end of its wait, and in the order of tokens.
func (w *world) operations() []porcupine.Operation {
	list := make([]porcupine.Operation, 0, len(w.history))
	for _, op := range w.history {
		if op.unblocked {
			continue
		}
		switch {
		case op.refused || op.deadlock:
			w.excuse(op)
		case op.kind == inform:
			w.place(op)
		}
		from := max(op.call.ns, w.time.earliestNS(op.earliestMS()))
		list = append(list, porcupine.Operation{ClientId: op.conn, Input: op, Call: from, Return: op.ret.ns})
	}
	w.queue()
	narrow(list)
	return list
}

// narrow uses that tokens rise: a token is given after every lower one, and clients get it later. The
// operation that got it is known if only one acquired with it, and no other operation of the same owner was
// cut off before its reply.
func narrow(list []porcupine.Operation) {
	type given struct {
		token     int64
		call, ret int64 // the earliest of the operations with this token
		acquirers int
		acquirer  int // the index of the last of them in list
		byUnknown bool
	}
	byToken, cutOff := map[int64]*given{}, map[int]bool{}
	for _, p := range list {
		if op := p.Input.(*operation); op.kind == acquire && op.unknown {
			cutOff[op.owner] = true
		}
	}
	for i, p := range list {
		op := p.Input.(*operation)
		for n, token := range op.tokens() {
			g := byToken[token]
			if g == nil {
				g = &given{token: token, call: ever, ret: ever}
				byToken[token] = g
			}
			g.call, g.ret = min(g.call, p.Call), min(g.ret, p.Return)
			g.byUnknown = g.byUnknown || cutOff[op.owner] || op.kind != acquire && cutOff[op.holders[n].owner]
			if op.kind == acquire {
				g.acquirers, g.acquirer = g.acquirers+1, i
			}
		}
	}
	tokens := slices.SortedFunc(maps.Values(byToken), func(a, b *given) int { return cmp.Compare(a.token, b.token) })
	latest := ever
	for _, g := range slices.Backward(tokens) {
		if g.acquirers == 1 && !g.byUnknown {
			p := &list[g.acquirer]
			p.Return = max(p.Call, min(p.Return, latest))
		}
		latest = min(latest, g.ret)
	}
	after, earliest := map[int64]int64{}, int64(0)
	for _, g := range tokens {
		after[g.token] = earliest
		if !g.byUnknown {
			earliest = max(earliest, g.call)
		}
	}
	for i := range list {
		p := &list[i]
		for _, token := range p.Input.(*operation).tokens() {
			p.Call = max(p.Call, min(p.Return, after[token]))
		}
	}
}

// tokens returns the tokens in the reply of an operation.
func (op *operation) tokens() []int64 {
	if op.kind == acquire && !op.unknown {
		return op.values
	}
	var all []int64
	for _, h := range op.holders {
		all = append(all, h.token)
	}
	return all
}

// excuse records the keys for which an MLOCK may have been waiting when op was refused. For a shared op it
// records an exclusive waiter.
func (w *world) excuse(op *operation) {
	from := op.earliestMS()
	for _, other := range w.history {
		alone := len(other.keys) == 1 && (!op.shared || other.shared)
		if other.kind != acquire || other.waitMS == noWait || alone || other == op ||
			other.ret.ms < from || other.call.ns > op.ret.ns || other.ret.ns < op.call.ns {
			continue
		}
		for _, k := range op.keys {
			for _, waited := range other.keys {
				if k == waited {
					op.excused |= 1 << k
				}
			}
		}
	}
}

// place records the waiters that were seen in a queue.
func (w *world) place(seen *operation) {
	for _, id := range seen.waiting {
		var waiter *operation
		for _, op := range w.history {
			c := w.conns[op.conn-1]
			if c.id == id && op.kind == acquire && op.call.ns <= seen.ret.ns && op.ret.ns >= seen.call.ns {
				if waiter != nil {
					waiter = nil // there were two such operations
					break
				}
				waiter = op
			}
		}
		if waiter == nil || waiter.unblocked {
			continue
		}
		if waiter.queuedNS == 0 || waiter.queuedNS > seen.ret.ns {
			waiter.queuedNS = seen.ret.ns
		}
	}
}

// queue records that later waiters may not pass those that were seen in the queue. Only an owner that has a
// part of the lock may.
func (w *world) queue() {
	place := uint64(1)
	for _, before := range w.history {
		if before.queuedNS == 0 || place == 0 {
			continue
		}
		before.place, place = place, place<<1
		for _, op := range w.history {
			if op.kind == acquire && len(op.keys) == 1 && slices.Contains(before.keys, op.keys[0]) &&
				op.call.ns > before.queuedNS && op.call.ns < before.ret.ns {
				op.behind |= before.place
			}
		}
	}
}
