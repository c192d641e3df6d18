package slotmoves

import (
	"cmp"
	"fmt"

	"lockserver/server/slotmove"
)

// client is a client with one command at a time.
type client struct {
	w      *world
	name   string
	owners map[int]string // its map, by slot
	op     *op
	count  int
	tokens map[string]int64 // of locks that it has got, by slot and key
}

// op is a command under way.
type op struct {
	client    *client
	cmd       *command
	at        string
	redirects int
	begunMS   int64
	heldMS    int64 // true time at which the shard began to hold it; 0: it is not held
	done      bool
}

// next begins a command.
func (c *client) next() {
	w := c.w
	if w.still {
		return
	}
	c.count++
	o := &op{client: c, cmd: c.choose(), begunMS: w.nowMS}
	c.op = o
	o.at = w.groups[w.n(len(w.groups))].name
	if o.cmd.slot >= 0 {
		o.at = c.owners[o.cmd.slot]
	}
	o.send()
}

// choose returns any command.
func (c *client) choose() *command {
	w := c.w
	d := &command{slot: w.n(slots), owner: c.name, renew: w.happens(30), priority: int64(w.n(3)), leaseMS: w.ms(300, 2500)}
	unique := fmt.Sprintf("%s.%d", c.name, c.count)
	keys := []string{"a", "b", "c"}
	switch k := w.n(100); {
	case k < 8:
		d.name, d.key, d.other = "set", keys[w.n(3)], unique
		if w.happens(50) {
			d.leaseMS = 0
		}
	case k < 22:
		d.name, d.key, d.other = "append", keys[w.n(3)], ","+unique
	case k < 27:
		d.name, d.key = "get", keys[w.n(3)]
	case k < 29:
		d.name, d.key = "del", keys[w.n(3)]
	case k < 37:
		d.name, d.key, d.other = "rename", keys[w.n(3)], keys[w.n(3)]
	case k < 58:
		d.name, d.key = "lock", []string{"l", "m"}[w.n(2)]
	case k < 74:
		d.name, d.key = "unlock", []string{"l", "m"}[w.n(2)]
		d.token = c.tokens[fmt.Sprint(d.slot, d.key)]
	case k < 86:
		d.name, d.key, d.other = "order", "sale", fmt.Sprint("o", w.n(9))
		if w.happens(40) {
			d.leaseMS = 0
		}
	case k < 90:
		d.name, d.key, d.other = "pay", "sale", fmt.Sprint("o", w.n(9))
	case k < 98:
		d.name, d.other = "delay", unique
	default:
		d.name, d.slot = "flushall", -1
	}
	return d
}

// send sends the command to the shard at o.at.
func (o *op) send() {
	w, c := o.client.w, o.client
	at, redirects := o.at, o.redirects
	if w.calm || !w.happens(4) {
		w.at(w.delay(), func() {
			if p := w.group(at).leader; p != nil && !o.done {
				p.request(o)
			}
		})
	}
	w.at(w.ms(1500, 2500), func() {
		if c.op == o && !o.done && o.redirects == redirects { // nothing is known of the outcome
			o.done = true
			if o.cmd.slot >= 0 {
				c.owners[o.cmd.slot] = w.groups[w.n(len(w.groups))].name
			}
			c.next()
		}
	})
}

// request is a command at a leader.
func (p *leader) request(o *op) {
	g := p.g
	n := o.cmd.slot
	if n < 0 {
		if g.table.Frozen() && !g.w.is(flushInFreeze) {
			p.hold(o)
			return
		}
		p.propose(&record{cmd: o.cmd, op: o})
		return
	}
	state := g.table.Slot(n)
	out := g.table.Out
	switch {
	case p.frozenIn && state == slotmove.Leaving:
		p.hold(o)
	case g.serving(n) != nil:
		p.propose(&record{cmd: o.cmd, op: o})
	case state == slotmove.Frozen:
		p.hold(o)
	case state == slotmove.Given && g.w.nowMS-max(g.frozeMS, p.sinceMS) < slotmove.FreezeMS && !g.w.is(redirectsAtGive) && !(p.number == out.Number && p.view.Report.Taken):
		p.hold(o)
	default:
		o.moved(g.name, g.route(n))
	}
}

// hold makes a command wait.
func (p *leader) hold(o *op) {
	w := p.g.w
	if o.heldMS == 0 {
		o.heldMS = w.nowMS
	}
	if waits := w.nowMS - max(o.heldMS, p.sinceMS); waits > 1000 {
		w.fail("%s holds a command for %d ms", p.g.name, waits)
	}
	p.held = append(p.held, o)
}

// answer answers the client, if this leader has the command from it.
func (r *record) answer(how string) {
	if r.op == nil || r.by == nil {
		return
	}
	o, g, w := r.op, r.by.g, r.by.g.w
	if how != "" { // the state has changed since the command was proposed
		w.at(0, func() {
			if g.leader == r.by && !o.done {
				r.by.request(o)
			}
		})
		return
	}
	o.heldMS = 0
	if !w.calm && w.happens(4) {
		return
	}
	w.at(w.delay(), func() { o.finish(g.name, r) })
}

// finish is the arrival of the answer at the client.
func (o *op) finish(from string, r *record) {
	c, w := o.client, o.client.w
	if o.done {
		return
	}
	o.done = true
	if r.cmd.slot >= 0 {
		c.owners[r.cmd.slot] = from
	}
	if r.cmd.name == "lock" && len(r.reply) > 8 {
		if c.tokens == nil {
			c.tokens = map[string]int64{}
		}
		var token int64
		fmt.Sscanf(r.reply, "granted %d", &token)
		c.tokens[fmt.Sprint(r.cmd.slot, r.cmd.key)] = token
	}
	w.moves["answers"]++
	w.at(w.ms(1, 60), c.next)
}

// moved is a redirection.
func (o *op) moved(from, to string) {
	c, w := o.client, o.client.w
	o.heldMS = 0
	w.at(w.delay(), func() {
		if o.done {
			return
		}
		o.redirects++
		w.moves["redirections"]++
		if w.calm && o.begunMS > w.calmMS+convergeMS && o.redirects > 3 {
			w.fail("%s is redirected %d times for slot %d, last from %s to %s", c.name, o.redirects, o.cmd.slot, from, to)
		}
		if o.redirects > 20 {
			o.done = true
			w.at(w.ms(1, 60), c.next)
			return
		}
		c.owners[o.cmd.slot], o.at = to, to
		o.send()
	})
}

// convergeMS is how long after the healing maps may still be old.
const convergeMS = 6000

// route returns where a shard sends clients for a slot.
func (g *group) route(n int) string {
	hint, generation := g.table.Route(n)
	owner, newest := g.mapped(n)
	if hint == "" || owner != "" && owner != g.name && newest >= generation && g.table.Slot(n) != slotmove.Arriving {
		hint = owner
	}
	if hint == "" || hint == g.name { // clients ask another one
		hint = g.w.groups[g.w.n(len(g.w.groups))].name
	}
	return hint
}

// mapped returns the owner of a slot by the map: of two claims the newer generation counts.
func (g *group) mapped(n int) (owner string, generation int64) {
	for _, o := range g.w.groups {
		c := g.claims[o.name]
		if o == g {
			c = g.claim()
		}
		for _, r := range c.slots {
			if r.Has(n) && cmp.Compare(c.generation, generation) > 0 {
				owner, generation = o.name, c.generation
			}
		}
	}
	return owner, generation
}

// gossip asks another shard for its map.
func (g *group) gossip() {
	w := g.w
	w.at(w.ms(600, 1200), g.gossip)
	for _, o := range w.groups {
		if o == g || g.leader == nil {
			continue
		}
		me := g.leader
		w.send(g.name, o.name, func(q *leader) {
			own := claim{o.name, q.tab().Generation, q.tab().Owned}
			said := []claim{own}
			for _, third := range w.groups {
				if third != o {
					said = append(said, o.claims[third.name])
				}
			}
			w.answer(o.name, me, func() {
				for _, c := range said {
					if c.generation > g.claims[c.shard].generation {
						g.claims[c.shard] = c
					}
				}
			})
		})
	}
}
