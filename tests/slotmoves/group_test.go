package slotmoves

import (
	"crypto/sha1"
	"encoding/binary"
	"maps"
	"slices"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// group is a shard: the committed log of a raft group, and the state that follows from it.
type group struct {
	w       *world
	name    string
	skewMS  int64 // the shard's clock is so much ahead of true time
	floorMS int64 // the clock is at least this
	log     []*record
	table   *slotmove.Table
	data    map[int]*slot
	staging map[slotmove.ID]map[int]*slot
	token   int64
	stampMS int64
	leader  *leader
	former  []*leader
	claims  map[string]claim // the map
	frozeMS int64            // true time of the last freeze
	terms   int
}

// claim is a statement of a shard about its slots.
type claim struct {
	shard      string
	generation int64
	slots      []cluster.Range
}

// record is an entry of the log.
type record struct {
	cmd     *command // or entry
	entry   *slotmove.Entry
	op      *op // the client's, which the leader knows
	by      *leader
	stampMS int64
	then    func(err error)
	// results, the same for all members
	ran    bool
	tokens []int64
	reply  string
}

// payload is the content of a stage entry: a slot of the cut, or effects.
type payload struct {
	slot    int
	content *slot
	effects []*record
}

// leader is the leader of a group, or a former leader that has not heard of its successor.
type leader struct {
	g               *group
	term            int
	sinceMS         int64
	ended, isFormer bool
	table           *slotmove.Table // of a former leader: as of its end
	seen            int
	tail            []*record
	pending         map[string]bool
	held            []*op
	view            slotmove.View
	number          int64 // of the move that view is about
	cut             map[int]*slot
	cutAt           int64
	sentMS, askedMS int64
	givenMS         int64
	stopIn          slotmove.ID
	frozenIn        bool // planted: a freeze that only this leader knows
}

func (g *group) claim() claim { return claim{g.name, g.table.Generation, g.table.Owned} }

func (g *group) clockMS() int64 { return max(g.w.nowMS+g.skewMS, g.floorMS) }

// formers returns the former leaders that do not know that they are.
func (g *group) formers() []*leader {
	g.former = slices.DeleteFunc(g.former, func(p *leader) bool { return p.ended })
	return g.former
}

// tab returns the table as a leader knows it.
func (p *leader) tab() *slotmove.Table {
	if p.isFormer {
		return p.table
	}
	return p.g.table
}

func (p *leader) commitIndex() int {
	if p.isFormer {
		return p.seen
	}
	return len(p.g.log)
}

// lead begins the time of a new leader, which commits the entries that its predecessor has left with it.
func (g *group) lead(left []*record) {
	g.terms++
	p := &leader{g: g, term: g.terms, sinceMS: g.w.nowMS, givenMS: g.w.nowMS, pending: map[string]bool{}}
	g.leader = p
	for _, r := range left {
		r.op, r.then, r.by = nil, nil, nil
		g.commit(r)
	}
	g.w.logf("%s: leader %d, %d entries left to it", g.name, p.term, len(left))
	p.tick()
}

// end ends a leader.
func (p *leader) end(how ending) {
	g := p.g
	if g.leader != p {
		return
	}
	g.leader = nil
	var left []*record
	if how == kept || how == replaced {
		left = p.tail
	} else if len(p.tail) > 0 && p.g.w.kill == nil {
		left = p.tail[:g.w.n(len(p.tail))]
	}
	left = slices.Clone(left)
	if how == deposed || how == replaced {
		p.isFormer, p.table, p.seen = true, g.table.Clone(), len(g.log)
		g.former = append(g.former, p)
		g.w.at(g.w.ms(300, 4000), func() { p.ended = true })
	} else {
		p.ended = true
	}
	g.w.logf("%s: leader %d ends (%d of %d entries are kept, believes to lead: %t)", g.name, p.term, len(left), len(p.tail), p.isFormer)
	g.w.at(g.w.ms(50, 900), func() { g.lead(left) })
}

// propose appends to the leader's log. It commits later, if the leader leads then.
func (p *leader) propose(r *record) {
	g := p.g
	if p.ended {
		return
	}
	p.tail = append(p.tail, r)
	r.by, r.stampMS = p, max(g.stampMS, g.clockMS())
	if p.isFormer { // it is never committed
		return
	}
	g.stampMS = r.stampMS
	g.w.at(g.w.ms(1, 6), func() {
		if i := slices.Index(p.tail, r); i >= 0 && g.leader == p {
			for _, r := range slices.Clone(p.tail[:i+1]) {
				if g.leader == p {
					p.tail = p.tail[1:]
					g.commit(r)
				}
			}
		}
	})
	if k := g.w.kill; r.entry != nil && k != nil && !k.done && k.kind == r.entry.Kind && !p.isFormer {
		if k.done = true; k.how != after {
			g.w.at(0, func() { p.end(k.how) })
			return
		}
		then := r.then
		r.then = func(err error) {
			if then != nil {
				then(err)
			}
			p.end(lost)
		}
	} else if r.entry != nil && !g.w.calm && g.w.happens(3) {
		how := ending(g.w.n(int(endings)))
		g.w.at(g.w.ms(0, 3), func() { p.end(how) })
	}
}

// write proposes an entry, unless the same is under way.
func (p *leader) write(e *slotmove.Entry, then func(err error)) {
	key := e.Kind.String() + e.Move.String()
	if p.pending[key] {
		return
	}
	p.pending[key] = true
	e.ClockMS = p.g.clockMS()
	parsed, err := slotmove.ParseEntry(e.AppendTo(nil))
	if err != nil {
		panic(err)
	}
	p.propose(&record{entry: parsed, then: func(err error) {
		delete(p.pending, key)
		if then != nil {
			then(err)
		}
	}})
}

// commit applies a record.
func (g *group) commit(r *record) {
	g.log = append(g.log, r)
	var err error
	if r.entry != nil {
		err = g.applyEntry(int64(len(g.log)), r)
	} else {
		g.applyCommand(r)
	}
	if r.then != nil {
		r.then(err)
	}
}

// serving returns the data of a slot if the shard executes commands on it.
func (g *group) serving(n int) *slot {
	switch state := g.table.Slot(n); {
	case state.Serves(), state == slotmove.Given && g.w.is(servesAfterGive):
		return g.data[n]
	case state == slotmove.Arriving && g.w.is(servesBeforeTake):
		for _, in := range g.table.In {
			if s := g.staging[in.Move][n]; s != nil {
				return s
			}
		}
	}
	return nil
}

// all returns the slots that a command touches.
func (c *command) all() []int {
	if c.slot >= 0 {
		return []int{c.slot}
	}
	list := make([]int, slots)
	for n := range list {
		list[n] = n
	}
	return list
}

func (g *group) applyCommand(r *record) {
	c := r.cmd
	flush := c.slot < 0
	if flush && g.table.Frozen() && !g.w.is(flushInFreeze) {
		r.answer("hold")
		return
	}
	for _, n := range c.all() {
		s := g.serving(n)
		if flush && g.w.is(flushInFreeze) && g.table.Slot(n) == slotmove.Frozen {
			s = g.data[n]
		}
		if s == nil {
			continue
		}
		r.ran = true
		if flush {
			r.reply = "ok"
			*s = *newSlot()
		} else {
			r.reply, _ = s.do(c, r.stampMS, false, func() int64 {
				g.token++
				r.tokens = append(r.tokens, g.token)
				return g.token
			})
		}
		g.w.ref.ran(g, r, n, s)
	}
	if r.ran || flush {
		r.answer("")
		return
	}
	r.answer("elsewhere")
}

// applyEntry applies an entry about moves.
func (g *group) applyEntry(index int64, r *record) error {
	w, e := g.w, r.entry
	if w.fault != "" {
		g.planted(index, e)
	}
	effect, err := g.table.Apply(index, e)
	if err != nil {
		w.moves["void "+e.Kind.String()]++
		if e.Kind == slotmove.Stage && w.is(stageTwice) && g.staging[e.Move] != nil {
			g.stage(e)
		}
		return err
	}
	w.moves[e.Kind.String()]++
	if e.Kind != slotmove.Stage {
		w.logf("%s: %s %s %v%s", g.name, e.Kind, e.Move, e.Slots, map[bool]string{true: " (left by the former leader)"}[r.by == nil])
	}
	switch effect {
	case slotmove.Cut:
		if r.by != nil {
			r.by.cut, r.by.cutAt = map[int]*slot{}, index
			for _, n := range numbers(g.table.Out.Slots) {
				r.by.cut[n] = g.data[n].clone()
				if w.is(waitersForgotten) {
					for _, l := range r.by.cut[n].locks {
						l.queue = nil
					}
				}
			}
		}
	case slotmove.MakeStaging:
		g.staging[e.Move] = map[int]*slot{}
	case slotmove.StageAnew:
		g.staging[e.Move] = map[int]*slot{}
		g.stage(e)
	case slotmove.StageOn:
		g.stage(e)
	case slotmove.HoldSlots:
		g.frozeMS = w.nowMS
		w.ref.froze(g, e, r.stampMS)
		if r.by != nil {
			r.by.view.Digest = digest(g.data, numbers(g.table.Out.Slots))
		}
	case slotmove.ServeSlots:
		w.ref.same(g, "after "+e.Kind.String())
	case slotmove.RedirectSlots:
		w.ref.gave(g, e, r.stampMS)
		if g.leader != nil {
			g.leader.givenMS = w.nowMS
		}
	case slotmove.TakeStaging:
		g.take(e)
	case slotmove.DropStaging:
		if m := w.ref.moves[e.Move]; m != nil && m.to == g.name {
			w.fail("%s drops the staging of %s, which was given to it", g.name, e.Move)
		}
		delete(g.staging, e.Move)
	case slotmove.DropData:
		maps.DeleteFunc(g.data, func(n int, _ *slot) bool { return g.table.Slot(n) == slotmove.Absent })
	}
	w.ref.owners()
	return nil
}

// stage applies the effects of a stage entry to the staging.
func (g *group) stage(e *slotmove.Entry) {
	p := g.w.payloads[binary.LittleEndian.Uint64(e.Effects)]
	s := g.staging[e.Move]
	if p.content != nil {
		s[p.slot] = p.content.clone()
		return
	}
	for _, r := range p.effects {
		for _, n := range r.cmd.all() {
			if s[n] == nil {
				continue
			}
			if r.cmd.slot < 0 {
				s[n] = newSlot()
				continue
			}
			tokens := r.tokens
			s[n].do(r.cmd, r.stampMS, false, func() int64 {
				if len(tokens) == 0 { // only with a planted fault
					return 0
				}
				token := tokens[0]
				tokens = tokens[1:]
				return token
			})
		}
	}
}

// take makes the staging data.
func (g *group) take(e *slotmove.Entry) {
	w := g.w
	s := g.staging[e.Move]
	delete(g.staging, e.Move)
	w.ref.took(g, e, s)
	shift := e.ShiftMS()
	switch {
	case w.is(clockLeftOut):
		shift = w.ref.moves[e.Move].gaveMS - e.FreezeMS
	case w.is(leaseLeftOut):
		shift = e.ClockMS - w.ref.moves[e.Move].gaveMS
	case w.is(clockRaised):
		g.floorMS = max(g.floorMS, e.FreezeMS)
		shift = max(0, shift)
	}
	for n, content := range s {
		content.shift(shift, e.ClockMS)
		g.data[n] = content
	}
	if !w.is(tokenLeftOut) {
		g.token = max(g.token, e.Token)
	}
}

// digest is a digest of some slots.
func digest(data map[int]*slot, some []int) slotmove.Digest {
	h := sha1.New()
	for _, n := range some {
		if s := data[n]; s != nil {
			h.Write([]byte(s.describe(true)))
		}
		h.Write([]byte{'\n', byte(n)})
	}
	return slotmove.Digest(h.Sum(nil))
}

// numbers returns the slots of ranges that the simulation uses.
func numbers(ranges []cluster.Range) (all []int) {
	for _, r := range ranges {
		for n := r.First; n <= min(r.Last, slots-1); n++ {
			all = append(all, n)
		}
	}
	return all
}
