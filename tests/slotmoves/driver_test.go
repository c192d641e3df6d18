package slotmoves

import (
	"encoding/binary"
	"slices"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// tick is done by each leader again and again, and by former leaders, too.
func (p *leader) tick() {
	if p.ended {
		return
	}
	w := p.g.w
	w.at(w.ms(6, 20), p.tick)
	p.driveOut()
	p.driveIn()
	if p.isFormer {
		return
	}
	p.timers()
	held := p.held
	p.held = nil
	for _, o := range held {
		p.request(o)
	}
}

// timers proposes what is due.
func (p *leader) timers() {
	g := p.g
	attached := func(owner string) bool { return !g.w.gone[owner] }
	for n := range slots {
		if s := g.serving(n); s != nil && !p.frozenIn {
			for _, c := range s.due(n, g.clockMS(), attached) {
				key := c.String()
				if p.pending[key] {
					continue
				}
				p.pending[key] = true
				p.propose(&record{cmd: c, then: func(error) { delete(p.pending, key) }})
			}
		}
	}
	if g.w.is(expiryInStaging) {
		for _, in := range g.table.In {
			for n := range slots {
				if s := g.staging[in.Move][n]; s != nil {
					for _, c := range s.due(n, g.clockMS(), func(string) bool { return false }) {
						s.do(c, g.clockMS(), false, func() int64 { g.token++; return g.token })
					}
				}
			}
		}
	}
}

// begin writes the first entry of a move.
func (p *leader) begin(to string, some []cluster.Range) {
	g := p.g
	id := slotmove.ID{Source: g.name, Number: g.table.Last + 1}
	leave := func() { p.write(&slotmove.Entry{Kind: slotmove.Leave, Move: id, Peer: to, Slots: some}, nil) }
	if g.w.is(arriveFirst) {
		g.w.send(g.name, to, func(q *leader) {
			q.arrive(id, some, func(slotmove.Report) { g.w.answer(to, p, leave) })
		})
		return
	}
	leave()
}

// driveOut does the next step of the move away.
func (p *leader) driveOut() {
	t, w := p.tab(), p.g.w
	out := t.Out
	if out == nil {
		return
	}
	v := &p.view
	if p.number != out.Number {
		p.number, *v, p.sentMS = out.Number, slotmove.View{}, 0
	}
	at := v.Report.At
	arrivedCut := at.Cut == out.Cut && at.Index > 0
	v.NowMS = p.g.clockMS()
	// A log that was cut short: some leaders cannot go on from far back.
	v.Reaches = p.cutAt == out.Cut || arrivedCut && (p.term%2 == 0 || int(at.Index) > p.commitIndex()-50)
	v.Near = arrivedCut && p.commitIndex()-int(at.Index) <= 5
	step := t.Next(v)
	if w.fault != "" {
		step = p.plantedStep(t, step)
	}
	id := slotmove.ID{Source: t.Shard, Number: out.Number}
	switch step {
	case slotmove.CutAnew:
		p.write(&slotmove.Entry{Kind: slotmove.Leave, Move: id, Peer: out.Target, Slots: out.Slots}, nil)
	case slotmove.WriteFreeze:
		v.FrozeMS = v.NowMS
		p.write(&slotmove.Entry{Kind: slotmove.Freeze, Move: id}, nil)
	case slotmove.WriteThaw:
		p.write(&slotmove.Entry{Kind: slotmove.Thaw, Move: id}, func(error) {
			if !w.is(frozenAgain) {
				v.ThawMS = p.g.clockMS()
			}
		})
	case slotmove.WriteGive:
		p.write(&slotmove.Entry{Kind: slotmove.Give, Move: id, To: out.End, Token: p.g.token}, nil)
		if !w.calm && !v.Stop && w.happens(10) { // an operator cancels it while give is under way
			v.Stop = true
			p.driveOut()
		}
	case slotmove.WriteDrop:
		p.write(&slotmove.Entry{Kind: slotmove.Drop, Move: id}, nil)
	case slotmove.WriteCancel:
		p.write(&slotmove.Entry{Kind: slotmove.Cancel, Move: id}, nil)
	case slotmove.AskArrive, slotmove.Send, slotmove.AskReady, slotmove.AskTake:
		if p.sentMS == 0 || w.nowMS-p.sentMS > 60 {
			p.sentMS = w.nowMS
			p.ask(t, step, id)
		}
	}
}

// ask sends the target a request.
func (p *leader) ask(t *slotmove.Table, step slotmove.Step, id slotmove.ID) {
	w, out := p.g.w, t.Out
	report := func(r slotmove.Report) {
		w.answer(out.Target, p, func() {
			if p.number == id.Number {
				p.view.Report, p.view.Asked, p.sentMS = r, true, 0
			}
		})
	}
	some, end, sum := out.Slots, out.End, p.view.Digest
	switch step {
	case slotmove.AskArrive:
		w.send(p.g.name, out.Target, func(q *leader) { q.arrive(id, some, report) })
	case slotmove.Send:
		if e := p.stream(out, id); e != nil {
			w.send(p.g.name, out.Target, func(q *leader) { q.stage(e, report) })
		}
	case slotmove.AskReady:
		w.send(p.g.name, out.Target, func(q *leader) { q.ready(id, end, sum, report) })
	case slotmove.AskTake:
		status := t.Status(id.Number)
		w.send(p.g.name, out.Target, func(q *leader) { q.hear(id, status, report) })
	}
}

// stream returns the next stage entry.
func (p *leader) stream(out *slotmove.Out, id slotmove.ID) *slotmove.Entry {
	g, at := p.g, p.view.Report.At
	if at.Cut != out.Cut {
		at = slotmove.Place{Cut: out.Cut}
	}
	e := &slotmove.Entry{Kind: slotmove.Stage, Move: id, From: at}
	var load payload
	if at.Index == 0 {
		if p.cutAt != out.Cut {
			return nil
		}
		all := numbers(out.Slots)
		n := all[at.Piece]
		load.slot, load.content = n, p.cut[n]
		e.To = slotmove.Place{Cut: at.Cut, Piece: at.Piece + 1}
		if int(at.Piece)+1 == len(all) {
			e.To = slotmove.Place{Cut: at.Cut, Index: at.Cut}
		}
	} else {
		end := int64(p.commitIndex())
		if out.State == slotmove.Frozen && !g.w.is(tailNotWaited) {
			end = min(end, out.End.Index)
		}
		to := min(end, at.Index+g.w.ms(1, 8))
		if to <= at.Index {
			return nil
		}
		for _, r := range g.log[at.Index:to] {
			if r.cmd != nil && r.ran && (r.cmd.slot < 0 || slices.Contains(numbers(out.Slots), r.cmd.slot)) {
				if r.cmd.slot < 0 && g.w.is(flushMissed) || r.cmd.name == "rename" && g.w.is(renameMissed) {
					continue
				}
				load.effects = append(load.effects, r)
			}
		}
		e.To = slotmove.Place{Cut: at.Cut, Index: to}
	}
	e.Effects = binary.LittleEndian.AppendUint64(nil, uint64(len(g.w.payloads)))
	g.w.payloads = append(g.w.payloads, load)
	return e
}

// arrive is the target's side of AskArrive.
func (p *leader) arrive(id slotmove.ID, some []cluster.Range, report func(slotmove.Report)) {
	t := p.tab()
	r := t.Report(id)
	if r.Arrived || r.Taken || r.Refused {
		report(r)
		return
	}
	for _, in := range t.In {
		if in.Move.Source == id.Source && in.Move.Number < id.Number { // it is over
			p.write(&slotmove.Entry{Kind: slotmove.Drop, Move: in.Move, Cancelled: true}, nil)
			return
		}
	}
	p.write(&slotmove.Entry{Kind: slotmove.Arrive, Move: id, Slots: some}, func(err error) {
		r := p.tab().Report(id)
		r.Refused = r.Refused || err != nil && !r.Arrived && !r.Taken
		report(r)
	})
}

// stage is the target's side of Send. Now and then it writes what is behind or ahead as well: Apply decides.
func (p *leader) stage(e *slotmove.Entry, report func(slotmove.Report)) {
	w := p.g.w
	r := p.tab().Report(e.Move)
	fits := e.From == r.At || e.From == slotmove.Place{Cut: e.From.Cut} && e.From.Cut > r.At.Cut
	if r.Arrived && (fits || w.is(stageTwice) || w.happens(30)) {
		p.write(e, func(error) { report(p.tab().Report(e.Move)) })
		return
	}
	report(r)
}

// ready is the target's side of AskReady.
func (p *leader) ready(id slotmove.ID, end slotmove.Place, sum slotmove.Digest, report func(slotmove.Report)) {
	w := p.g.w
	r := p.tab().Report(id)
	if w.is(tailNotWaited) && r.Arrived && r.At.Index > 0 {
		end = r.At
	}
	if !r.Arrived || r.At != end || r.Ready {
		report(r)
		return
	}
	if p.isFormer { // its staging is not that of the group any more
		return
	}
	own := sum
	if !w.blind {
		own = digest(p.g.staging[id], numbers(p.tab().In[slices.IndexFunc(p.tab().In, func(in slotmove.In) bool { return in.Move == id })].Slots))
	}
	if own != sum {
		w.fail("the staging of %s at %s differs from the source's data at freeze", id, p.g.name)
		return
	}
	p.write(&slotmove.Entry{Kind: slotmove.Ready, Move: id, To: end, Digest: own}, func(error) { report(p.tab().Report(id)) })
}

// hear is the target's side of AskTake, and of the answer to a question about a move.
func (p *leader) hear(id slotmove.ID, s slotmove.Status, report func(slotmove.Report)) {
	t := p.tab()
	for _, in := range t.In {
		if in.Move != id {
			continue
		}
		stop := p.stopIn == id
		then := func(error) {
			if report != nil {
				report(p.tab().Report(id))
			}
		}
		step := in.NextIn(&s, stop)
		if p.g.w.is(dropsReady) && stop {
			step, s.Over = slotmove.WriteDrop, true
		}
		switch step {
		case slotmove.WriteTake:
			p.write(s.Take(id, p.g.clockMS()), then)
		case slotmove.WriteDrop:
			p.write(&slotmove.Entry{Kind: slotmove.Drop, Move: id, Cancelled: s.Over}, then)
		}
		return
	}
	if report != nil {
		report(t.Report(id))
	}
}

// driveIn asks the sources of moves to this shard, when they may have been silent.
func (p *leader) driveIn() {
	w, g := p.g.w, p.g
	if w.nowMS-p.askedMS < 300 {
		return
	}
	p.askedMS = w.nowMS
	for _, in := range p.tab().In {
		id := in.Move
		w.send(g.name, id.Source, func(q *leader) {
			s := q.tab().Status(id.Number)
			w.answer(id.Source, p, func() { p.hear(id, s, nil) })
		})
	}
}
