package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

func zpopmin(c *Ctx) error { return popScored(c, false) }
func zpopmax(c *Ctx) error { return popScored(c, true) }

// popScored is ZPOPMIN and ZPOPMAX. In RESP3 the members come as pairs only if a count is given.
func popScored(c *Ctx, highest bool) error {
	a := c.Args()
	key := a.Key()
	single := !a.More()
	count := int64(1)
	if a.Left() > 1 {
		a.Syntax()
	}
	if !single {
		count = a.Uint()
	}
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenZSet(key)
	if !ok {
		return ErrWrongType
	}
	n := int(min(count, int64(scored(e.ZSet()))))
	pairs := !single && c.Out.Proto >= 3
	if pairs {
		c.Out.Array(n)
	} else {
		c.Out.Array(2 * n)
	}
	writePoppedScored(c, key, &e, n, highest, pairs)
	return nil
}

// writePoppedScored takes the n lowest or highest members of key's sorted set out, all of
// which exist, and writes them.
func writePoppedScored(c *Ctx, key []byte, e *store.ZSetEdit, n int, highest, pairs bool) {
	if n == 0 {
		return
	}
	write := func(member []byte, score float64) bool {
		if pairs {
			c.Out.Array(2)
		}
		c.Out.Bulk(member)
		c.Out.Double(score)
		return true
	}
	event := "zpopmin"
	if size := e.ZSet().Len(); highest {
		event = "zpopmax"
		e.ZSet().RangeDown(size-n, size, write)
		e.RemoveRange(size-n, size)
	} else {
		e.ZSet().Range(0, n, write)
		e.RemoveRange(0, n)
	}
	c.notifyTaken(keyevent.ZSet, event, key, e.ZSet() == nil)
}

// popScoredCall is what a pop from the first sorted set of several asks for.
type popScoredCall struct {
	keys    [][]byte
	highest bool
	count   int64 // most members, written as an array of pairs; 0: one, written without
}

func zmpop(c *Ctx) error {
	a := c.Args()
	var p popScoredCall
	p.readMany(a)
	if err := a.Err(); err != nil {
		return err
	}
	if done, err := p.run(c); done || err != nil {
		return err
	}
	c.Out.NullArray()
	return nil
}

// readMany reads "numkeys key [key ...] MIN|MAX [COUNT count]".
func (p *popScoredCall) readMany(a *Scanner) {
	n := a.IntOr(ErrNumKeysZero)
	switch {
	case a.Err() == nil && n < 1:
		a.Fail(ErrNumKeysZero)
	case n > int64(a.Left()):
		a.Syntax()
	}
	p.keys = a.Take(int(n))
	switch a.Option() {
	case "MIN":
	case "MAX":
		p.highest = true
	default:
		a.Syntax()
	}
	p.count = 1
	for given := false; a.More(); given = true {
		if given || a.Option() != "COUNT" {
			a.Syntax()
		}
		if p.count = a.IntOr(ErrCountZero); p.count < 1 {
			a.Fail(ErrCountZero)
		}
	}
}

// run pops from the first key that is a sorted set, and reports whether there is one; if not, nothing is
// written. A key of another type before it is an error.
func (p *popScoredCall) run(c *Ctx) (done bool, err error) {
	for _, key := range p.keys {
		e, ok := c.DB.OpenZSet(key)
		switch {
		case !ok:
			return false, ErrWrongType
		case e.ZSet() != nil:
			p.write(c, key, &e)
			return true, nil
		}
	}
	return false, nil
}

// retry is run for a client that waits: a key of another type is no error but waited for on. If one unit
// has filled several of the sorted sets, the first in the client's own order is taken; Redis 7.0 takes the
// one filled first, and 7.2 does as this.
func (p *popScoredCall) retry(c *Ctx) (done bool) {
	for _, key := range p.keys {
		if e, ok := c.DB.OpenZSet(key); ok && e.ZSet() != nil {
			p.write(c, key, &e)
			return true
		}
	}
	return false
}

// write pops from a sorted set that is there and writes its key and the members.
func (p *popScoredCall) write(c *Ctx, key []byte, e *store.ZSetEdit) {
	if p.count == 0 {
		c.Out.Array(3)
		c.Out.Bulk(key)
		writePoppedScored(c, key, e, 1, p.highest, false)
		return
	}
	n := int(min(p.count, int64(e.ZSet().Len())))
	c.Out.Array(2)
	c.Out.Bulk(key)
	c.Out.Array(n)
	writePoppedScored(c, key, e, n, p.highest, true)
}
