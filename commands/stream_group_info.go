package commands

import (
	"math"

	"lockserver/store/stream"
)

func xinfoGroups(c *Ctx) error {
	a := c.Args()
	s, err := c.findStream(a.Key())
	if err != nil {
		return err
	}
	if s == nil {
		return ErrNoSuchKey
	}
	c.Out.Array(len(s.Groups()))
	for _, g := range s.Groups() {
		c.Out.Map(6)
		c.Out.BulkString("name")
		c.Out.BulkString(g.Name())
		c.Out.BulkString("consumers")
		c.Out.Int(int64(len(g.Consumers())))
		c.Out.BulkString("pending")
		c.Out.Int(int64(g.PendingLen()))
		writeGroupProgress(c, s, g)
	}
	return nil
}

// writeGroupProgress writes three pairs: how far the group has read.
func writeGroupProgress(c *Ctx, s *stream.Stream, g *stream.Group) {
	c.Out.BulkString("last-delivered-id")
	c.Out.Bulk(g.LastID().AppendTo(c.Scratch()))
	c.Out.BulkString("entries-read")
	if g.EntriesRead() == stream.UnknownRead {
		c.Out.Null()
	} else {
		c.Out.Int(g.EntriesRead())
	}
	c.Out.BulkString("lag")
	if lag, ok := g.Lag(s); ok {
		c.Out.Int(lag)
	} else {
		c.Out.Null()
	}
}

// xinfoConsumers lists a group's consumers. It shows two times, as Redis does since 7.2: idle since the last
// request of the consumer, inactive since the last request that returned entries.
func xinfoConsumers(c *Ctx) error {
	a := c.Args()
	key, name := a.Key(), a.Bytes()
	s, err := c.findStream(key)
	if err != nil {
		return err
	}
	if s == nil {
		return ErrNoSuchKey
	}
	g := s.Group(name)
	if g == nil {
		return ErrNoGroup(name, key)
	}
	c.Out.Array(len(g.Consumers()))
	for _, one := range g.Consumers() {
		inactive := int64(-1)
		if one.ActiveMS >= 0 {
			inactive = max(c.NowMS()-one.ActiveMS, 0)
		}
		c.Out.Map(4)
		c.Out.BulkString("name")
		c.Out.BulkString(one.Name())
		c.Out.BulkString("pending")
		c.Out.Int(int64(one.PendingLen()))
		c.Out.BulkString("idle")
		c.Out.Int(max(c.NowMS()-one.SeenMS, 0))
		c.Out.BulkString("inactive")
		c.Out.Int(inactive)
	}
	return nil
}

// writeGroupFull writes a group for XINFO STREAM FULL, with at most count pending entries of the group and of
// each consumer. A count of 0 means no limit.
func writeGroupFull(c *Ctx, s *stream.Stream, g *stream.Group, count int64) {
	given := givenBack(g)
	if given > 0 {
		c.Out.Map(8)
	} else {
		c.Out.Map(7)
	}
	c.Out.BulkString("name")
	c.Out.BulkString(g.Name())
	writeGroupProgress(c, s, g)
	c.Out.BulkString("pel-count")
	c.Out.Int(int64(g.PendingLen()))
	c.Out.BulkString("pending")
	writePending(c, count, func(visit func(stream.Pending) bool) { g.EachPending(stream.ID{}, visit) }, g)
	c.Out.BulkString("consumers")
	c.Out.Array(len(g.Consumers()))
	for _, one := range g.Consumers() {
		c.Out.Map(5)
		c.Out.BulkString("name")
		c.Out.BulkString(one.Name())
		c.Out.BulkString("seen-time")
		c.Out.Int(one.SeenMS)
		c.Out.BulkString("active-time")
		c.Out.Int(one.ActiveMS)
		c.Out.BulkString("pel-count")
		c.Out.Int(int64(one.PendingLen()))
		c.Out.BulkString("pending")
		writePending(c, count, func(visit func(stream.Pending) bool) { g.PendingOf(one, stream.ID{}, visit) }, nil)
	}
	if given > 0 {
		c.Out.BulkString("nacked-count")
		c.Out.Int(given)
	}
}

// givenBack returns the number of entries that XNACK has given back and that were not claimed since.
func givenBack(g *stream.Group) (n int64) {
	if unowned := g.Consumer(nil); unowned != nil {
		g.PendingOf(unowned, stream.ID{}, func(p stream.Pending) bool {
			if p.DeliveredMS == 0 {
				n++
			}
			return true
		})
	}
	return n
}

// writePending writes an array of pending entries. owners is the group that has the names of the consumers,
// or nil to leave them out.
func writePending(c *Ctx, count int64, each func(visit func(stream.Pending) bool), owners *stream.Group) {
	list, n := c.Out.DeferArray(), int64(0)
	each(func(p stream.Pending) bool {
		n++
		if owners != nil {
			c.Out.Array(4)
		} else {
			c.Out.Array(3)
		}
		c.Out.Bulk(p.ID.AppendTo(c.Scratch()))
		if owners != nil {
			c.Out.BulkString(owners.Owner(p).Name())
		}
		c.Out.Int(p.DeliveredMS)
		c.Out.Int(int64(min(p.Deliveries, math.MaxInt64)))
		return n != count
	})
	c.Out.SetArray(list, int(n))
}
