package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

func zpopmin(c *Ctx) error { return popScored(c, false) }
func zpopmax(c *Ctx) error { return popScored(c, true) }

func zmpop(c *Ctx) error    { return popFirst(c, store.ZSet) }
func bzmpop(c *Ctx) error   { return popFirstOrWait(c, store.ZSet) }
func bzpopmin(c *Ctx) error { return popOneOrWait(c, store.ZSet, false) }
func bzpopmax(c *Ctx) error { return popOneOrWait(c, store.ZSet, true) }

// popScored runs ZPOPMIN and ZPOPMAX. In RESP3 the members are pairs only if a count was given.
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

// writePoppedScored removes the n lowest or highest members of key's sorted set, which must exist, and writes
// them.
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
	c.NotifyTaken(keyevent.ZSet, event, key, e.ZSet() == nil)
}

// popZSet pops from a sorted set if it exists, and writes its key and the members. They are pairs if a count
// was given.
func (p *popCall) popZSet(c *Ctx, key []byte) (done bool, err error) {
	e, ok := c.DB.OpenZSet(key)
	switch {
	case !ok:
		return false, ErrWrongType
	case e.ZSet() == nil:
		return false, nil
	}
	if p.waits {
		c.DB.FindToWrite(key)
	}
	if p.count == 0 {
		c.Out.Array(3)
		c.Out.Bulk(key)
		writePoppedScored(c, key, &e, 1, p.last, false)
		return true, nil
	}
	n := int(min(p.count, int64(e.ZSet().Len())))
	c.Out.Array(2)
	c.Out.Bulk(key)
	c.Out.Array(n)
	writePoppedScored(c, key, &e, n, p.last, true)
	return true, nil
}
