//go:build simulation

package simulation

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// mostChecking is how long the checker may search for an order.
const mostChecking = 2 * time.Second

// check checks the history of each key with its model, and all tokens with each other.
func (w *world) check() error {
	if err := w.checkKeys(families()); err != nil {
		return err
	}
	if err := w.checkCancels(); err != nil {
		return err
	}
	return w.checkTokens(w.all)
}

// checkKeys checks the history of each key with its model.
func (w *world) checkKeys(all []family) error {
	kinds := map[string]family{}
	for _, f := range all {
		kinds[f.name] = f
	}
	parts := map[string][]*operation{}
	for _, o := range w.all {
		if o.about != "" {
			parts[o.about] = append(parts[o.about], o)
		}
	}
	for about, ops := range parts {
		name, _, _ := strings.Cut(about, " ")
		var all []porcupine.Operation
		whole := ops
		if prune := kinds[name].prune; prune != nil {
			ops = prune(ops)
		}
		for _, o := range ops {
			all = append(all, porcupine.Operation{ClientId: o.client, Input: o, Call: o.call.event, Return: o.ret.event})
		}
		switch porcupine.CheckOperationsTimeout(model(kinds[name].model), all, mostChecking) {
		case porcupine.Illegal:
			return fmt.Errorf("seed %d: %s is not what it should be:\n%s", w.seed, about, w.report(whole))
		case porcupine.Unknown:
			w.undecided++
			w.say("undecided: %s, %d operations", about, len(ops))
		}
	}
	return nil
}

// checkCancels: a cancelled wait is not granted. A positive reply of LOCK.CANCEL means that it has ended a
// wait of an owner. An owner has one command at a time. So a running LOCK of that owner must be refused, or
// its outcome is unknown.
func (w *world) checkCancels() error {
	for _, o := range w.all {
		if o.what != "end waits" || o.unknown || o.reply.Int == 0 {
			continue
		}
		ended := slices.ContainsFunc(w.all, func(p *operation) bool {
			return p.about == o.about && p.owner == o.waiter && p.acquires() && p.waits() &&
				p.call.event < o.ret.event && p.ret.event > o.call.event && (p.unknown || p.reply.IsNull())
		})
		if !ended {
			return fmt.Errorf("seed %d: no wait has ended that was cancelled:\n%s\n%s", w.seed, o, w.report(nil))
		}
	}
	return nil
}

// model returns a sequential model in the form for the checker.
func model(begin func() sequential) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{begin()} },
		Step: func(s, input, _ any) (all []any) {
			for _, next := range s.(sequential).after(input.(*operation)) {
				all = append(all, next)
			}
			return all
		},
		Equal: func(a, b any) bool { return a.(sequential).String() == b.(sequential).String() },
		Hash: func(s any) uint64 {
			h := fnv.New64a()
			_, _ = h.Write([]byte(s.(sequential).String()))
			return h.Sum64()
		},
	}
	return m.ToModel()
}

// checkTokens: a token is greater than all tokens, of any lock among some operations, that clients got before
// it was asked for.
func (w *world) checkTokens(some []*operation) error {
	var answered []*operation
	first := map[int64]*operation{}
	for _, o := range some {
		if o.acquires() && !o.unknown && o.reply.Int > 0 {
			if f := first[o.reply.Int]; f == nil || o.ret.event < f.ret.event {
				first[o.reply.Int] = o
			}
			answered = append(answered, o)
		}
	}
	slices.SortFunc(answered, func(a, b *operation) int { return int(a.ret.event - b.ret.event) })
	highest := (*operation)(nil)
	next := 0
	byCall := slices.Clone(answered)
	slices.SortFunc(byCall, func(a, b *operation) int { return int(a.call.event - b.call.event) })
	for _, o := range byCall {
		for ; next < len(answered) && answered[next].ret.event < o.call.event; next++ {
			if highest == nil || answered[next].reply.Int > highest.reply.Int {
				highest = answered[next]
			}
		}
		if f := first[o.reply.Int]; f.about != o.about || f.owner != o.owner {
			return fmt.Errorf("seed %d: one token is two's:\n%s\n%s", w.seed, f, o)
		}
		if f := first[o.reply.Int]; f == o && highest != nil && o.reply.Int < highest.reply.Int && !w.asked(o) {
			return fmt.Errorf("seed %d: a token is below one before:\n%s\n%s\n%s", w.seed, highest, o, w.report(nil))
		}
	}
	return nil
}

// asked reports whether an owner had asked for a lock before, with an unknown result: the token may be from
// that call.
func (w *world) asked(o *operation) bool {
	return slices.ContainsFunc(w.all, func(p *operation) bool {
		return p.unknown && p.about == o.about && p.owner == o.owner && p.call.event < o.call.event && p.acquires()
	})
}
