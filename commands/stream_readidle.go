package commands

import (
	"math"

	"lockserver/store"
	"lockserver/store/stream"
)

// This file has XREADGROUP ... CLAIM, which first gives a consumer entries that have been pending for long,
// and then new entries (Redis 8.4).

// takeIdle returns the entries that have been pending for the time in the call, longest first, and at most as
// many as the call may return. Entries that were deleted from the stream are no longer pending.
func (x *readCall) takeIdle(c *Ctx, g *store.GroupEdit) (idle []stream.Pending) {
	var deleted []stream.ID
	g.ByTime()
	g.Group().EachByTime(func(p stream.Pending) bool {
		switch {
		case c.NowMS()-p.DeliveredMS < x.claimIdleMS:
			return false
		case !g.Stream().Has(p.ID):
			deleted = append(deleted, p.ID)
		default:
			idle = append(idle, p)
		}
		return x.count == 0 || int64(len(idle)) < x.count
	})
	for _, id := range deleted {
		g.Acknowledge(id)
	}
	return idle
}

// deliverIdle writes the entries that the consumer takes over. Each has the time it has been pending (-1
// without a consumer) and the number of earlier deliveries.
func (x *readCall) deliverIdle(c *Ctx, g *store.GroupEdit, consumer *stream.Consumer, idle []stream.Pending) {
	for _, p := range idle {
		g.Stream().Range(p.ID, p.ID, false, func(id stream.ID, fv stream.FieldValues) bool {
			c.Out.Array(4)
			writeIDAndFields(c.Out, id, fv)
			return false
		})
		c.Out.Int(idleMS(c, g.Group(), p))
		c.Out.Int(int64(p.Deliveries))
		p.Deliver(c.NowMS())
		g.Deliver(p, consumer)
		consumer.ActiveMS = c.NowMS()
	}
}

// idleMS returns the number of milliseconds that an entry has been pending, or -1 if it has no consumer
// (XNACK).
func idleMS(c *Ctx, g *stream.Group, p stream.Pending) int64 {
	if p.DeliveredMS == 0 && g.Owner(p).Name() == "" {
		return -1
	}
	return max(c.NowMS()-p.DeliveredMS, 0)
}

// idleSinceMS returns the time when a waiting call will take over a pending entry of key, if the entry is not
// used before. The result is never if the call has no CLAIM.
func (x *readCall) idleSinceMS(c *Ctx, key []byte) int64 {
	atMS := int64(math.MaxInt64)
	if !x.claim {
		return atMS
	}
	e := c.DB.EditStream(key)
	g, _ := e.EditGroup(x.group)
	g.ByTime()
	g.Group().EachByTime(func(p stream.Pending) bool {
		if p.DeliveredMS <= math.MaxInt64-x.claimIdleMS {
			atMS = p.DeliveredMS + x.claimIdleMS
		}
		return false
	})
	return atMS
}

// leastPatienceMS is the shortest time after which a waiting call looks at the pending entries again.
const leastPatienceMS = 10

// awaitIdle makes a waiting call try again when a pending entry may be taken over. Entries delivered from now
// on are due no earlier than the call's own idle time from now, so the call checks again by then and needs no
// notification.
func (x *readCall) awaitIdle(c *Ctx) {
	if !x.claim {
		return
	}
	againMS := int64(math.MaxInt64)
	if wait := max(x.claimIdleMS, leastPatienceMS); wait < againMS-c.NowMS() {
		againMS = c.NowMS() + wait
	}
	for _, key := range x.keys {
		c.Host.TryAgainAt(c, key, max(min(x.idleSinceMS(c, key), againMS), c.NowMS()+1))
	}
}
