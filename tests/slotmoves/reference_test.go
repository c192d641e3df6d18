package slotmoves

import (
	"bytes"
	"fmt"
	"slices"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// reference is the single key space that clients believe in. It executes each command when it is committed.
// Its deadlines are in true time.
type reference struct {
	w      *world
	owner  map[int]string // empty while a slot is given and not taken
	slots  map[int]*slot
	tokens map[string]int64
	fired  map[string]bool
	moves  map[slotmove.ID]*moving
	past   map[string]bool // contents of slots, for saved sets
}

// moving is the knowledge about a frozen move.
type moving struct {
	trueMS, gaveMS int64 // when it was frozen, and the source's clock at give
	content        map[int]string
	to             string // set by give
}

func newReference(w *world) *reference {
	r := &reference{w, map[int]string{}, map[int]*slot{}, map[string]int64{}, map[string]bool{}, map[slotmove.ID]*moving{}, map[string]bool{}}
	for n := range slots {
		r.slots[n] = newSlot()
		r.remember(n)
	}
	return r
}

func (r *reference) remember(n int) { r.past[fmt.Sprint(n, r.slots[n].describe(false))] = true }

// ran is a command that a shard has executed on a slot.
func (r *reference) ran(g *group, rec *record, n int, is *slot) {
	w, c := r.w, rec.cmd
	if r.owner[n] != g.name {
		w.fail("%s answers for slot %d of '%s': %s", g.name, n, r.owner[n], c)
		return
	}
	if c.slot < 0 {
		r.slots[n] = newSlot()
		r.remember(n)
		return
	}
	timed := slices.Contains([]string{"lapse", "release", "expire", "fire"}, c.name)
	if timed && rec.reply == "no" {
		return
	}
	trueMS := min(rec.stampMS-g.skewMS, w.nowMS)
	given := slices.Clone(rec.tokens)
	reply, early := r.slots[n].do(c, trueMS, true, func() int64 {
		if len(given) == 0 {
			return -1
		}
		token, key := given[0], fmt.Sprint(n, c.key)
		given = given[1:]
		if token <= r.tokens[key] {
			w.fail("token %d of %s after %d, at %s", token, key, r.tokens[key], g.name)
		}
		r.tokens[key] = token
		return token
	})
	switch {
	case early:
		w.fail("%s: %s ended too early", g.name, c)
	case reply != rec.reply:
		w.fail("%s answers '%s' to %s, and not '%s'", g.name, rec.reply, c, reply)
	case c.name == "fire" && r.fired[c.other]:
		w.fail("the delayed entry %s comes twice", c.other)
	}
	if c.name == "fire" {
		r.fired[c.other] = true
	}
	r.equal(g, n, is, c.String())
	r.remember(n)
}

// equal compares a slot.
func (r *reference) equal(g *group, n int, is *slot, when string) {
	want := r.slots[n].describe(false)
	if is == nil {
		r.w.fail("%s has lost slot %d, %s", g.name, n, when)
	} else if got := is.describe(false); got != want {
		r.w.fail("slot %d at %s, %s:\n is    %s\n and not %s", n, g.name, when, got, want)
	}
	if text := r.slots[n].balance(); text != "" {
		r.w.fail("slot %d, %s: %s", n, when, text)
	}
}

// same compares all slots of a shard.
func (r *reference) same(g *group, when string) {
	for n := range slots {
		if r.owner[n] == g.name {
			r.equal(g, n, g.data[n], when)
		}
	}
}

func (r *reference) froze(g *group, e *slotmove.Entry, stampMS int64) {
	m := &moving{trueMS: stampMS - g.skewMS, content: map[int]string{}}
	for _, n := range numbers(g.table.Out.Slots) {
		m.content[n] = g.data[n].describe(true)
	}
	r.moves[e.Move] = m
}

func (r *reference) gave(g *group, e *slotmove.Entry, stampMS int64) {
	m := r.moves[e.Move]
	m.gaveMS, m.to = stampMS, g.table.Out.Target
	for _, n := range numbers(g.table.Out.Slots) {
		r.owner[n] = ""
	}
}

// took checks the staging at take, and moves the reference's deadlines.
func (r *reference) took(g *group, e *slotmove.Entry, staged map[int]*slot) {
	m := r.moves[e.Move]
	if m == nil || m.to != g.name {
		r.w.fail("%s takes %s, which was not given to it", g.name, e.Move)
		return
	}
	m.to = ""
	nowMS := min(e.ClockMS-g.skewMS, r.w.nowMS)
	if len(staged) != len(m.content) {
		r.w.fail("%s takes %d slots of %s, and not %d", g.name, len(staged), e.Move, len(m.content))
		return
	}
	for n, s := range staged {
		if got := s.describe(true); got != m.content[n] && !r.w.is(waitersForgotten) && !r.w.is(tailNotWaited) {
			r.w.fail("slot %d of %s at take:\n is    %s\n and not %s", n, e.Move, got, m.content[n])
		}
		r.slots[n].shift(nowMS-m.trueMS, nowMS)
		r.owner[n] = g.name
	}
}

// owners checks that at most one shard serves each slot, and that it is the right one.
func (r *reference) owners() {
	for n := range slots {
		for _, g := range r.w.groups {
			if g.serving(n) != nil && r.owner[n] != g.name {
				r.w.fail("%s serves slot %d, which '%s' has", g.name, n, r.owner[n])
			}
		}
	}
}

// watch checks that a freeze is bounded.
func (w *world) watch() {
	w.at(50, w.watch)
	for _, g := range w.groups {
		if p := g.leader; p != nil && g.table.Frozen() {
			if ms := w.nowMS - max(g.frozeMS, p.sinceMS); ms > 1000 {
				w.fail("%s has slots frozen for %d ms", g.name, ms)
			}
		}
	}
}

// save collects the tables and the data of all shards, each at another moment, as a backup of the cluster
// does. A set without each slot exactly once is refused.
func (w *world) save() {
	w.at(w.ms(400, 900), w.save)
	owners := make([][]string, slots)
	whole, asked := true, 0
	for _, g := range w.groups {
		w.at(w.ms(0, 300), func() {
			for n := range slots {
				if state := g.table.Slot(n); state.Serves() || state == slotmove.Frozen {
					owners[n] = append(owners[n], g.name)
					whole = whole && w.ref.past[fmt.Sprint(n, g.data[n].describe(false))]
				}
			}
			if asked++; asked < len(w.groups) {
				return
			}
			if slices.ContainsFunc(owners, func(of []string) bool { return len(of) != 1 }) {
				w.moves["refused sets"]++
				return
			}
			w.moves["saved sets"]++
			if w.calm {
				w.saved++
			}
			if !whole {
				w.fail("a saved set has a slot as it never was")
			}
		})
	}
}

// end checks what must be true when everything has come to rest.
func (w *world) end() {
	if w.finding != "" {
		return
	}
	for n := range slots {
		var of []string
		for _, g := range w.groups {
			if g.serving(n) != nil {
				of = append(of, g.name)
			}
		}
		if len(of) != 1 {
			w.fail("slot %d is served by %v at the end", n, of)
		}
		for _, g := range w.groups {
			if owner, _ := g.mapped(n); len(of) == 1 && owner != of[0] {
				w.fail("the map of %s has slot %d at '%s', and not at %s", g.name, n, owner, of[0])
			}
		}
	}
	for _, g := range w.groups {
		if g.table.Out != nil || len(g.table.In) > 0 || len(g.staging) > 0 {
			w.fail("%s has a move at the end: out %+v, in %+v, %d stagings", g.name, g.table.Out, g.table.In, len(g.staging))
		}
		for n := range g.data {
			if g.table.Slot(n) == slotmove.Absent {
				w.fail("%s keeps data of slot %d", g.name, n)
			}
		}
		w.ref.same(g, "at the end")
	}
	if w.saved == 0 {
		w.fail("no set was saved after the healing")
	}
	for n := range slots {
		if s := w.ref.slots[n]; len(s.delayed) > 0 {
			w.fail("slot %d has entries that did not come: %v", n, s.delayed)
		}
	}
	if w.fault == "" {
		w.replay()
	}
}

// replay checks that the log alone makes the table, also from a snapshot at any place.
func (w *world) replay() {
	for i, g := range w.groups {
		owned := []cluster.Range{{First: 2 * i, Last: 2*i + 1}}
		if i == 2 {
			owned[0].Last = cluster.All().Last
		}
		t := slotmove.New(g.name, owned)
		for k, r := range g.log {
			if r.entry != nil {
				_, _ = t.Apply(int64(k+1), r.entry)
			}
			if k%97 == 0 {
				read, err := slotmove.ParseTable(t.AppendTo(nil))
				if err != nil {
					w.fail("%s: a table cannot be read: %v", g.name, err)
					return
				}
				t = read
			}
		}
		if !bytes.Equal(t.AppendTo(nil), g.table.AppendTo(nil)) {
			w.fail("%s: the log makes another table: %+v and not %+v", g.name, t, g.table)
		}
	}
}
