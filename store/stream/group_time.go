package stream

import "cmp"

// What is pending in the order of its delivery, for those who claim what nobody has touched for long. Most
// groups are never asked, so the order is made when they first are, and kept from then on.

// heldSince orders what is pending by when it was delivered.
type heldSince struct {
	deliveredMS int64
	id          ID
}

func heldLonger(a, b heldSince) bool {
	if c := cmp.Compare(a.deliveredMS, b.deliveredMS); c != 0 {
		return c < 0
	}
	return a.id.Less(b.id)
}

// OrderByTime makes EachByTime possible.
func (g *Group) OrderByTime() {
	if g.timeTree != nil {
		return
	}
	g.timeTree = newTree(heldLonger)
	pendingOf(g).Scan(func(p Pending) bool {
		timesOf(g).Set(p.since())
		return true
	})
}

func (p *Pending) since() heldSince { return heldSince{p.DeliveredMS, p.ID} }

// EachByTime calls fn for what is pending, delivered longest ago first, until fn returns false. fn must not
// change the group.
func (g *Group) EachByTime(fn func(p Pending) bool) {
	timesOf(g).Scan(func(h heldSince) bool {
		p, _ := g.Pending(h.id)
		return fn(p)
	})
}

// retime keeps the order when fresh takes the place of old, either of which may be nil.
func (g *Group) retime(old, fresh *Pending) {
	if g.timeTree == nil {
		return
	}
	if old != nil {
		timesOf(g).Delete(old.since())
	}
	if fresh != nil {
		timesOf(g).Set(fresh.since())
	}
}
