package linearizability

import (
	"cmp"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// operations is the history as the checker takes it, complete with what follows from the whole of it.
//
// The checker tries orders, and there are the more of them the longer operations overlap; those that wait
// overlap with everything. So each gets the narrowest window in which it can have taken effect, by what the
// model demands anyway: not before its time was up, and in the order of tokens.
func (w *world) operations() []porcupine.Operation {
	list := make([]porcupine.Operation, 0, len(w.history))
	for _, op := range w.history {
		if op.unblocked {
			continue
		}
		if op.refused || op.deadlock {
			w.excuse(op)
		}
		from := max(op.call.ns, w.time.earliestNS(op.earliestMS()))
		list = append(list, porcupine.Operation{ClientId: op.conn, Input: op, Call: from, Return: op.ret.ns})
	}
	narrow(list)
	return list
}

// narrow uses that tokens rise: a token is first given after every lower one, and whoever is told it is told
// after that. Who gave it is known if one operation alone acquired with it, and nobody of the same owner was
// cut off, who may have got it without being told.
func narrow(list []porcupine.Operation) {
	type given struct {
		token     int64
		call, ret int64 // the earliest of those who were told it
		acquirers int
		acquirer  int // where the last of them stands in list
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
		for _, token := range op.tokens() {
			g := byToken[token]
			if g == nil {
				g = &given{token: token, call: ever, ret: ever}
				byToken[token] = g
			}
			g.call, g.ret = min(g.call, p.Call), min(g.ret, p.Return)
			g.byUnknown = g.byUnknown || cutOff[op.owner] || cutOff[op.holder]
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

// tokens are those that an operation was told.
func (op *operation) tokens() []int64 {
	if op.unknown || op.kind != acquire && op.kind != look {
		return nil
	}
	return op.values
}

// excuse notes the keys that an MLOCK may have been waiting for when op was refused.
func (w *world) excuse(op *operation) {
	from := op.earliestMS()
	for _, other := range w.history {
		if other.kind != acquire || other.waitMS == noWait || len(other.keys) == 1 || other == op ||
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
