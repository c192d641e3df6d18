package commands

import (
	"math"

	"lockserver/store/stream"
)

// pendingCall holds the arguments of XPENDING.
type pendingCall struct {
	key, name  []byte
	extended   bool
	minIdleMS  int64
	start, end stream.ID
	count      int64
	consumer   []byte // nil means all
}

func xpending(c *Ctx) error {
	a := c.Args()
	call := pendingCall{key: a.Key(), name: a.Bytes(), end: stream.MaxID()}
	call.readRange(a)
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.findStream(call.key)
	if err != nil {
		return err
	}
	var g *stream.Group
	if s != nil {
		g = s.Group(call.name)
	}
	switch {
	case g == nil:
		return ErrNoKeyOrGroup(call.key, call.name)
	case call.extended:
		call.writeEntries(c, g)
	default:
		writePendingSummary(c, g)
	}
	return nil
}

// readRange reads [[IDLE min-idle-time] start end count [consumer]].
func (p *pendingCall) readRange(a *Scanner) {
	if !a.More() {
		return
	}
	p.extended = true
	if a.Left() < 3 || a.Left() > 6 {
		a.Syntax()
		return
	}
	if a.IsNext("IDLE") {
		p.minIdleMS = a.Int()
		if a.Err() == nil && a.Left() < 3 {
			a.Syntax()
		}
	}
	start, end := a.Bytes(), a.Bytes()
	p.count = max(a.Int(), 0)
	if a.Err() != nil {
		return
	}
	var err error
	if p.start, err = startOf(start); err == nil {
		p.end, err = endOf(end)
	}
	if err != nil {
		a.Fail(err)
	}
	if rest := a.Rest(); len(rest) > 0 { // words after the consumer are ignored, as in Redis
		p.consumer = rest[0]
	}
}

// writePendingSummary writes the number of pending entries, the lowest and highest of their IDs, and the
// number of each consumer that has any.
func writePendingSummary(c *Ctx, g *stream.Group) {
	c.Out.Array(4)
	c.Out.Int(int64(g.PendingLen()))
	if g.PendingLen() == 0 {
		c.Out.Null()
		c.Out.Null()
		c.Out.NullArray()
		return
	}
	first, last := g.PendingEnds()
	c.Out.Bulk(first.AppendTo(c.Scratch()))
	c.Out.Bulk(last.AppendTo(c.Scratch()))
	list, n := c.Out.DeferArray(), 0
	for _, one := range g.Consumers() {
		if one.PendingLen() > 0 {
			n++
			c.Out.Array(2)
			c.Out.BulkString(one.Name())
			c.Out.BulkInt(int64(one.PendingLen()))
		}
	}
	c.Out.SetArray(list, n)
}

// writeEntries writes for each pending entry in range its ID, consumer, milliseconds
// since its delivery, and deliveries. See idleMS.
func (p *pendingCall) writeEntries(c *Ctx, g *stream.Group) {
	list, n := c.Out.DeferArray(), int64(0)
	visit := func(e stream.Pending) bool {
		if n == p.count || p.end.Less(e.ID) {
			return false
		}
		if p.minIdleMS > 0 && c.NowMS()-e.DeliveredMS < p.minIdleMS {
			return true
		}
		n++
		c.Out.Array(4)
		c.Out.Bulk(e.ID.AppendTo(c.Scratch()))
		c.Out.BulkString(g.Owner(e).Name())
		c.Out.Int(idleMS(c, g, e))
		c.Out.Int(int64(min(e.Deliveries, math.MaxInt64)))
		return true
	}
	if p.consumer == nil {
		g.EachPending(p.start, visit)
	} else if one := g.Consumer(p.consumer); one != nil {
		g.PendingOf(one, p.start, visit)
	}
	c.Out.SetArray(list, int(n))
}
