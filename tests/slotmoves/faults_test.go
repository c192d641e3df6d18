package slotmoves

import (
	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// The faults that can be planted. A test shows that each is found.
const (
	servesAfterGive  = "the source serves after give"
	servesBeforeTake = "the target serves before take"
	thawAfterGive    = "thaw after give"
	freezeInMemory   = "a freeze is only in memory"
	tailNotWaited    = "the tail is not waited for"
	stageTwice       = "a stage entry is applied twice"
	tokenLeftOut     = "the highest token is left out"
	clockLeftOut     = "the source's clock is left out"
	leaseLeftOut     = "leases do not get the time frozen"
	expiryInStaging  = "deadlines end in the staging"
	dropBeforeGive   = "the data is dropped before give is committed"
	flushMissed      = "FLUSHALL is not in the stream"
	renameMissed     = "RENAME is not in the stream"
	waitersForgotten = "waiters are not in the cut"
	// These are not in the list of the design.
	flushInFreeze   = "FLUSHALL does not wait while slots are frozen"
	clockRaised     = "the target's clock is raised to the source's"
	arriveFirst     = "the target is asked before the source's log has the move"
	dropsReady      = "the target drops alone when it is ready"
	dropCancels     = "a cancelled move has the entry of a finished move"
	oldReady        = "give follows the ready of another freeze"
	neverThaws      = "thaw waits for the target"
	frozenAgain     = "slots are frozen again at once after thaw"
	redirectsAtGive = "clients are redirected at give"
	generationLow   = "the target's generation is not above the source's"
)

// data matches findings about the data of a slot, and owner those about the shard that serves it.
const (
	data   = "differs|at take:|lost slot|and not|comes twice|as it never was"
	owner  = "serves slot|answers for slot"
	atMost = "is redirected"
)

// faults has all of them, and matches the findings that count. blind faults are found with and without the
// digests of ready.
var faults = []struct {
	name, finding string
	blind         bool
}{
	{servesAfterGive, owner, false},
	{servesBeforeTake, owner, false},
	{thawAfterGive, owner, false},
	{freezeInMemory, data, false},
	{tailNotWaited, data, false},
	{stageTwice, data, true},
	{tokenLeftOut, "token [0-9]+ of", false},
	{clockLeftOut, "too early", false},
	{leaseLeftOut, "too early", false},
	{expiryInStaging, data, true},
	{dropBeforeGive, data, false},
	{flushMissed, data, true},
	{renameMissed, data, true},
	{waitersForgotten, data, true},
	{flushInFreeze, data, true},
	{clockRaised, "too early", false},
	{arriveFirst, data + "|at the end", false},
	{dropsReady, "drops the staging", false},
	{dropCancels, "drops the staging", false},
	{oldReady, data, false},
	{neverThaws, "frozen for|holds a command", false},
	{frozenAgain, "holds a command", false},
	{redirectsAtGive, atMost, false},
	{generationLow, "the map of|" + atMost, false},
}

// planted changes the table before an entry is applied, for faults in the rules of Apply.
func (g *group) planted(index int64, e *slotmove.Entry) {
	w, t := g.w, g.table
	out := t.Out
	if out == nil || e.Move != (slotmove.ID{Source: t.Shard, Number: out.Number}) {
		if e.Kind == slotmove.Take && w.is(generationLow) {
			e.Generation = 0
		}
		if e.Kind == slotmove.Drop && w.is(dropsReady) {
			e.Cancelled = true
		}
		return
	}
	switch {
	case w.is(thawAfterGive) && e.Kind == slotmove.Thaw && out.State == slotmove.Given:
		t.Owned, t.Out = cluster.Join(t.Owned, out.Slots), nil
	case w.is(freezeInMemory) && e.Kind == slotmove.Give && out.State == slotmove.Leaving:
		out.State, out.End, out.FreezeMS = slotmove.Frozen, e.To, e.ClockMS
		w.ref.froze(g, e, e.ClockMS)
	case (w.is(tailNotWaited) || w.is(oldReady)) && e.Kind == slotmove.Give && out.State == slotmove.Frozen:
		out.End = e.To
	case w.is(dropCancels) && e.Kind == slotmove.Drop && out.State != slotmove.Given:
		t.Out = nil
	}
}

// plantedStep changes the next step of the source's leader, for faults in the rules of Next.
func (p *leader) plantedStep(t *slotmove.Table, step slotmove.Step) slotmove.Step {
	w, v, out := p.g.w, &p.view, t.Out
	id := slotmove.ID{Source: t.Shard, Number: out.Number}
	give := func() slotmove.Step {
		p.write(&slotmove.Entry{Kind: slotmove.Give, Move: id, To: v.Report.At, Token: p.g.token}, nil)
		return slotmove.Wait
	}
	switch {
	case w.is(thawAfterGive) && out.State == slotmove.Given && step == slotmove.AskTake && w.nowMS-p.givenMS > 150:
		return slotmove.WriteThaw
	case w.is(freezeInMemory) && out.State == slotmove.Leaving:
		return p.freezeInMemory(t, step, give)
	case (w.is(tailNotWaited) || w.is(oldReady)) && out.State == slotmove.Frozen && v.Asked && v.Report.Ready && step != slotmove.WriteThaw && step != slotmove.WriteCancel:
		return give()
	case w.is(tailNotWaited) && step == slotmove.Send && out.State == slotmove.Frozen:
		return slotmove.AskReady
	case w.is(neverThaws) && step == slotmove.WriteThaw:
		return slotmove.AskReady
	case w.is(dropCancels) && step == slotmove.WriteCancel:
		return slotmove.WriteDrop
	case w.is(dropBeforeGive) && step == slotmove.WriteGive && !p.isFormer:
		for _, n := range numbers(out.Slots) {
			p.g.data[n] = newSlot()
		}
	}
	return step
}

// freezeInMemory is a freeze without an entry.
func (p *leader) freezeInMemory(t *slotmove.Table, step slotmove.Step, give func() slotmove.Step) slotmove.Step {
	v, out := &p.view, t.Out
	switch {
	case v.Asked && v.Report.Ready && step != slotmove.WriteCancel:
		return give()
	case step == slotmove.WriteFreeze && !p.frozenIn:
		p.frozenIn, v.FrozeMS = true, v.NowMS
		return slotmove.Wait
	case p.frozenIn && v.NowMS-v.FrozeMS > slotmove.FreezeMS:
		p.frozenIn = false
	case p.frozenIn && step != slotmove.WriteCancel && v.Report.At.Index == int64(p.commitIndex()) && len(p.tail) == 0:
		id := slotmove.ID{Source: t.Shard, Number: out.Number}
		sum, end := digest(p.g.data, numbers(out.Slots)), v.Report.At
		p.g.w.send(p.g.name, out.Target, func(q *leader) {
			q.ready(id, end, sum, func(r slotmove.Report) {
				p.g.w.answer(out.Target, p, func() { v.Report, v.Asked = r, true })
			})
		})
		return slotmove.Wait
	case p.frozenIn && step == slotmove.WriteFreeze:
		return slotmove.Send
	}
	return step
}
