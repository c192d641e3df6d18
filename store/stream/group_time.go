package stream

import "cmp"

// The pending entries in the order of their delivery, for clients that claim entries idle for long. Most
// groups never need it, so the order is made at first use and kept from then on.

// heldSince is a pending entry in the order of delivery times.
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

// OrderByTime makes the order that EachByTime needs.
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

// EachByTime calls fn for the pending entries, the earliest delivery first, until fn returns false. fn must
// not change the group.
func (g *Group) EachByTime(fn func(p Pending) bool) {
	timesOf(g).Scan(func(h heldSince) bool {
		p, _ := g.Pending(h.id)
		return fn(p)
	})
}

// retime updates the order when fresh replaces old; either may be nil.
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
