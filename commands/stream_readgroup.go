package commands

import (
	"lockserver/store"
	"lockserver/store/stream"
)

// groupRead is one stream of an XREADGROUP. The call reads new entries, or the history: the consumer's
// pending entries after an ID.
type groupRead struct {
	key     []byte
	history bool
	after   stream.ID // for the history
}

// xreadgroup answers at once if one of its streams has new entries, or is asked for the history. Otherwise it
// waits.
func xreadgroup(c *Ctx) error {
	a := c.Args()
	call := readCall{timeoutMS: -1, grouped: true}
	call.readOptions(c, a)
	ids := call.readStreams(a)
	if a.Err() == nil && call.group == nil {
		a.Fail(ErrXReadGroupMissing)
	}
	if err := a.Err(); err != nil {
		return err
	}
	reads, err := call.resolveGroup(c, ids)
	if err != nil {
		return err
	}
	switch {
	case call.readGroups(c, reads):
	case call.timeoutMS < 0:
		c.Out.NullArray()
	default:
		call.waitGroup(c, ids)
	}
	return nil
}

// readGroups writes the entries of all streams, and reports whether there are any; if not, nothing is
// written.
func (x *readCall) readGroups(c *Ctx, reads []groupRead) bool {
	n := 0
	mark, streams := c.Out.Mark(), beginStreams(c.Out)
	for i := range reads {
		if x.readGroup(c, &reads[i]) {
			n++
		}
	}
	if n == 0 {
		c.Out.Rollback(mark)
		return false
	}
	endStreams(c.Out, streams, n)
	return true
}

// resolveGroup finds what to read from each stream. Each stream must have the group.
func (x *readCall) resolveGroup(c *Ctx, ids [][]byte) ([]groupRead, error) {
	reads := make([]groupRead, len(ids))
	for i, text := range ids {
		key := x.keys[i]
		s, err := c.findStream(key)
		if err != nil {
			return nil, err
		}
		if s == nil || s.Group(x.group) == nil {
			return nil, ErrNoGroupToRead(key, x.group)
		}
		r := groupRead{key: key}
		switch string(clip(text, len(text))) {
		case "$":
			return nil, ErrXReadGroupLast
		case "+":
			return nil, ErrXReadGroupNewest
		case ">":
		default:
			id, ok := parseStreamID(text, 0)
			if !ok {
				return nil, ErrStreamID
			}
			r.history, r.after = !id.IsMax(), id // Redis takes the highest ID like '>'
		}
		reads[i] = r
	}
	return reads, nil
}

// readGroup writes the entries of one stream for the consumer, and reports whether there are any. It creates
// the consumer if it does not exist.
func (x *readCall) readGroup(c *Ctx, r *groupRead) bool {
	c.DB.Find(r.key) // counts as another hit, as in Redis
	e := c.DB.EditStream(r.key)
	g, _ := e.EditGroup(x.group)
	consumer, _ := consumerOf(c, &g, r.key, x.consumer)
	consumer.SeenMS = c.NowMS()
	var idle []stream.Pending
	if x.claim && !r.history {
		idle = x.takeIdle(c, &g)
	}
	if !r.history && len(idle) == 0 && !hasNews(g.Stream(), g.Group()) {
		return false
	}
	if c.Out.Proto < 3 {
		c.Out.Array(2)
	}
	c.Out.Bulk(r.key)
	was := c.DB.Store().Dirty()
	if r.history {
		writeHistory(c, &g, consumer, r.after, x.count)
		c.DB.Store().Recount(was, 0)
	} else {
		x.deliver(c, &g, consumer, idle)
		c.DB.Store().Recount(was, 1)
	}
	return true
}

// hasNews reports whether a stream has entries that the group has not read.
func hasNews(s *stream.Stream, g *stream.Group) bool {
	return s.Len() > 0 && g.LastID().Less(s.LastID()) && g.LastID().Less(s.TopID())
}

// deliver writes the entries that the consumer takes over, and then those that the group has not read, at
// most count of them. A count of 0 means all. The latter become pending for the consumer unless the call has
// NOACK.
func (x *readCall) deliver(c *Ctx, g *store.GroupEdit, consumer *stream.Consumer, idle []stream.Pending) {
	var ids []stream.ID
	list := c.Out.DeferArray()
	x.deliverIdle(c, g, consumer, idle)
	if most := x.count - int64(len(idle)); x.count == 0 || most > 0 {
		g.Stream().Range(g.Group().LastID().Next(), stream.MaxID(), false, func(id stream.ID, fv stream.FieldValues) bool {
			writeEntry(c.Out, id, fv)
			ids = append(ids, id)
			return int64(len(ids)) != most || x.count == 0
		})
	}
	c.Out.SetArray(list, len(idle)+len(ids))
	if !x.noAck && len(ids) > 0 {
		consumer.ActiveMS = c.NowMS() // with NOACK the consumer gets entries, but Redis counts only those that become pending
		for _, id := range ids {
			g.Deliver(stream.Pending{ID: id, DeliveredMS: c.NowMS(), Deliveries: 1}, consumer)
		}
	}
	g.Read(ids)
}

// writeHistory writes the consumer's pending entries after an ID, which counts as another delivery. Of a
// deleted entry it writes only the ID.
func writeHistory(c *Ctx, g *store.GroupEdit, consumer *stream.Consumer, after stream.ID, count int64) {
	var pending []stream.Pending
	g.Group().PendingOf(consumer, after.Next(), func(p stream.Pending) bool {
		pending = append(pending, p)
		return int64(len(pending)) != count
	})
	c.Out.Array(len(pending))
	for _, p := range pending {
		if !g.Stream().Has(p.ID) {
			c.Out.Array(2)
			c.Out.Bulk(p.ID.AppendTo(c.Scratch()))
			c.Out.NullArray()
			continue
		}
		writeClaimed(c, g.Stream(), p.ID, false)
		p.Deliver(c.NowMS())
		g.Deliver(p, consumer)
	}
}

// waitGroup makes the client wait for new entries of one of its streams. If a stream or a group is removed
// meanwhile, or a key changes its type, the wait ends with the error of a new call.
func (x *readCall) waitGroup(c *Ctx, ids [][]byte) {
	own := *x
	own.keys, own.group, own.consumer = CloneAll(x.keys), Clone(x.group), Clone(x.consumer)
	ids = CloneAll(ids)
	c.Block(Wait{Keys: own.keys, EndsWithKey: true, DeadlineMS: c.WaitEndMS(x.timeoutMS),
		Try:      func(c *Ctx) (bool, error) { return own.retryGroup(c, ids) },
		TimedOut: func(c *Ctx) { c.Out.NullArray() }})
	if c.MayBlock {
		own.awaitIdle(c)
	}
}

// retryGroup answers a client that has waited, with all of its streams that have new entries.
func (x *readCall) retryGroup(c *Ctx, ids [][]byte) (bool, error) {
	reads, err := x.resolveGroup(c, ids)
	if err != nil {
		return true, err
	}
	ready := false
	for i := range reads {
		s := c.DB.Peek(reads[i].key).Stream()
		ready = ready || hasNews(s, s.Group(x.group)) || x.idleSinceMS(c, reads[i].key) <= c.NowMS()
	}
	if ready && x.readGroups(c, reads) {
		return true, nil
	}
	for i := range reads {
		c.DB.Find(reads[i].key) // as readGroups would have done
	}
	x.awaitIdle(c)
	return false, nil
}
