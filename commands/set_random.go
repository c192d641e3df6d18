package commands

import (
	"math"

	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
	"lockserver/store"
)

func spop(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	single := !a.More()
	if a.Left() > 1 {
		a.Syntax()
	}
	var count int64
	if !single {
		count = a.Uint()
	}
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenSet(key)
	switch {
	case !ok:
		return ErrWrongType
	case e.Set() == nil && single:
		c.Out.Null()
	case single:
		popOne(c, &e)
		c.NotifyTaken(keyevent.Set, "spop", key, e.Set() == nil)
	case e.Set() == nil:
		c.Out.Set(0)
	default:
		popMany(c, key, &e, count)
	}
	return nil
}

// popOne removes a random member and writes it.
func popOne(c *Ctx, e *store.SetEdit) {
	s := e.Set()
	member := s.At(c.Rand.IntN(s.Len()), c.Scratch())
	c.Out.Bulk(member)
	e.Remove(member)
}

// popMany removes count random members, or all if there are no more, and writes them. The key is removed with
// its last member.
func popMany(c *Ctx, key []byte, e *store.SetEdit, count int64) {
	s := e.Set()
	if count < int64(s.Len()) {
		c.Out.Set(int(count))
		for range count {
			popOne(c, e)
		}
		if count > 0 {
			c.Notify(keyevent.Set, "spop", key)
		}
		return
	}
	c.DB.Look(key) // counts as a hit: in Redis this case is a SUNION
	n := s.Len()
	c.Out.Set(n)
	s.Each(func(member []byte) bool {
		c.Out.Bulk(member)
		return true
	})
	was := c.DB.Store().Dirty()
	c.DB.Delete(key)
	c.DB.Store().Recount(was, n)
	c.NotifyTaken(keyevent.Set, "spop", key, true)
}

func srandmember(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	single := !a.More()
	if a.Left() > 1 {
		a.Syntax()
	}
	var count int64
	if !single {
		count = a.IntRange(-math.MaxInt64, math.MaxInt64)
	}
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.findSet(key)
	switch {
	case err != nil:
		return err
	case s == nil && single:
		c.Out.Null()
	case s == nil:
		c.Out.Array(0)
	case single:
		c.Out.Bulk(s.At(c.Rand.IntN(s.Len()), c.Scratch()))
	default:
		return draw(c, pool{
			len:     s.Len(),
			compact: s.Encoding() == "listpack",
			at:      func(out *resp.Writer, i int) { out.Bulk(s.At(i, c.Scratch())) },
			each: func(out *resp.Writer, after func()) {
				s.Each(func(member []byte) bool {
					out.Bulk(member)
					after()
					return true
				})
			},
		}, count, 1)
	}
	return nil
}
