package commands

import (
	"math"

	"lockserver/store"
	"lockserver/store/stream"
)

// claimCall holds the arguments of XCLAIM and XAUTOCLAIM.
type claimCall struct {
	key, name, consumer []byte
	minIdleMS           int64
	ids                 []stream.ID
	deliveredMS         int64 // the new time of delivery
	retryCount          int64 // -1 means one more than before
	force, justID       bool
	lastID              stream.ID
}

// xclaim looks up the group before it checks anything else, as Redis does.
func xclaim(c *Ctx) error {
	a := c.Args()
	call := claimCall{key: a.Key(), name: a.Bytes(), consumer: a.Bytes(), retryCount: -1}
	e, g, err := openGroup(c, call.key, call.name)
	if err != nil {
		return err
	}
	if e == nil {
		return ErrNoKeyOrGroup(call.key, call.name)
	}
	call.minIdleMS = max(a.IntOr(ErrClaimMinIdle("XCLAIM")), 0)
	call.readIDs(a)
	call.readOptions(c, a)
	if err := a.Err(); err != nil {
		return err
	}
	moved := g.Group().LastID().Less(call.lastID)
	if moved {
		g.SetID(call.lastID, g.Group().EntriesRead())
	}
	call.see(c, g)
	was := c.DB.Store().Dirty()
	list, n := c.Out.DeferArray(), 0
	for _, id := range call.ids {
		if call.claim(c, g, id) {
			n++
			writeClaimed(c, e.Stream(), id, call.justID)
		}
	}
	c.Out.SetArray(list, n)
	if now := c.DB.Store().Dirty(); moved && now > was {
		c.DB.Store().Recount(now, -1) // LASTID counts as a change only if nothing else changed
	}
	return nil
}

// readIDs reads the IDs up to the first word that is no ID.
func (x *claimCall) readIDs(a *Scanner) {
	for a.More() && a.Err() == nil {
		id, ok := parseStreamID(a.Peek(), 0)
		if !ok {
			break
		}
		a.Bytes()
		x.ids = append(x.ids, id)
	}
}

func (x *claimCall) readOptions(c *Ctx, a *Scanner) {
	now := c.NowMS()
	x.deliveredMS = now
	for a.More() {
		more := a.Left() > 1
		switch {
		case a.IsNext("FORCE"):
			x.force = true
		case a.IsNext("JUSTID"):
			x.justID = true
		case more && a.IsNext("IDLE"):
			x.deliveredMS = now - a.IntOr(ErrClaimOption("IDLE"))
		case more && a.IsNext("TIME"):
			x.deliveredMS = a.IntOr(ErrClaimOption("TIME"))
		case more && a.IsNext("RETRYCOUNT"):
			x.retryCount = a.IntOr(ErrClaimOption("RETRYCOUNT"))
		case more && a.IsNext("LASTID"):
			x.lastID = streamID(a)
		default:
			a.Fail(ErrClaimWord(a.Peek()))
		}
	}
	if x.deliveredMS < 0 || x.deliveredMS > now {
		x.deliveredMS = now
	}
}

// see records that the consumer made a request, and creates it if it does not exist.
func (x *claimCall) see(c *Ctx, g *store.GroupEdit) {
	consumer, _ := consumerOf(c, g, x.key, x.consumer)
	consumer.SeenMS = c.NowMS()
}

// claim gives one entry to the consumer, if the call's conditions allow it, and reports whether it did.
func (x *claimCall) claim(c *Ctx, g *store.GroupEdit, id stream.ID) bool {
	p, pending := g.Group().Pending(id)
	switch {
	case !g.Stream().Has(id): // a deleted entry is no longer pending
		if pending {
			g.Acknowledge(id)
		}
		return false
	case !pending && !x.force:
		return false
	case !pending:
		p = stream.Pending{ID: id, Deliveries: 1}
	case x.minIdleMS > 0 && c.NowMS()-p.DeliveredMS < x.minIdleMS:
		return false
	}
	switch {
	case x.retryCount >= 0:
		p.Deliveries = uint64(x.retryCount)
	case !x.justID:
		p.Deliver(x.deliveredMS)
	}
	p.DeliveredMS = x.deliveredMS
	to, _ := consumerOf(c, g, x.key, x.consumer)
	to.ActiveMS = c.NowMS()
	g.Deliver(p, to)
	return true
}

// writeClaimed writes an entry, or only its ID.
func writeClaimed(c *Ctx, s *stream.Stream, id stream.ID, justID bool) {
	if justID {
		c.Out.Bulk(id.AppendTo(c.Scratch()))
		return
	}
	s.Range(id, id, false, func(id stream.ID, fv stream.FieldValues) bool {
		writeEntry(c.Out, id, fv)
		return false
	})
}

const (
	// autoClaimCount is the COUNT of an XAUTOCLAIM that does not give it.
	autoClaimCount = 100
	// autoClaimFactor is the number of pending entries that XAUTOCLAIM examines for each entry of COUNT.
	autoClaimFactor = 10
	// autoClaimMost is the largest COUNT that a call may give.
	autoClaimMost = math.MaxInt64 / 16
)

// xautoclaim claims entries that have been pending for a given time, from an ID on. The reply has the next
// ID, the entries, and the IDs of deleted entries, which are no longer pending.
func xautoclaim(c *Ctx) error {
	a := c.Args()
	call := claimCall{key: a.Key(), name: a.Bytes(), consumer: a.Bytes(), retryCount: -1, deliveredMS: c.NowMS()}
	r := c.DB.Find(call.key)
	call.minIdleMS = max(a.IntOr(ErrClaimMinIdle("XAUTOCLAIM")), 0)
	if a.Err() != nil {
		return a.Err()
	}
	start, err := startOf(a.Bytes())
	if err != nil {
		return err
	}
	count := int64(autoClaimCount)
	for a.More() {
		switch {
		case a.Left() > 1 && a.IsNext("COUNT"):
			if count = a.IntOr(ErrClaimCount); a.Err() == nil && (count < 1 || count > autoClaimMost) {
				a.Fail(ErrClaimCount)
			}
		case a.IsNext("JUSTID"):
			call.justID = true
		default:
			a.Syntax()
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	e, g, err := openGroupOf(c, r, call.key, call.name)
	if err != nil {
		return err
	}
	if e == nil {
		return ErrNoKeyOrGroup(call.key, call.name)
	}
	call.see(c, g)
	call.auto(c, g, start, count)
	return nil
}

// auto runs an XAUTOCLAIM after its arguments were read.
func (x *claimCall) auto(c *Ctx, g *store.GroupEdit, start stream.ID, count int64) {
	var seen, deleted []stream.ID
	next := stream.ID{}
	attempts := count * autoClaimFactor
	c.Out.Array(3)
	// The reply begins with the next ID, which is known only at the end. So the entries are recorded first.
	claimed := int64(0)
	g.Group().EachPending(start, func(p stream.Pending) bool {
		if attempts == 0 || claimed == count {
			next = p.ID
			return false
		}
		attempts--
		switch {
		case !g.Stream().Has(p.ID):
			deleted = append(deleted, p.ID)
			claimed++
		case x.minIdleMS == 0 || c.NowMS()-p.DeliveredMS >= x.minIdleMS:
			seen = append(seen, p.ID)
			claimed++
		}
		return true
	})
	c.Out.Bulk(next.AppendTo(c.Scratch()))
	c.Out.Array(len(seen))
	for _, id := range seen {
		x.claim(c, g, id)
		writeClaimed(c, g.Stream(), id, x.justID)
	}
	c.Out.Array(len(deleted))
	for _, id := range deleted {
		g.Acknowledge(id)
		c.Out.Bulk(id.AppendTo(c.Scratch()))
	}
}
