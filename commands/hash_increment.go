package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
)

func hincrby(c *Ctx) error {
	a := c.Args()
	key, field, by := a.Key(), a.Bytes(), a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenHash(key)
	if !ok {
		return ErrWrongType
	}
	var n int64
	if h := e.Hash(); h != nil {
		old, isInt, found := h.GetInt(field)
		switch found = found && !c.DB.Overdue(h, field); {
		case found && !isInt:
			return ErrHashInteger
		case found:
			n = old
		}
	}
	sum, ok := addInts(n, by)
	if !ok {
		return ErrOverflow
	}
	if e.SetInt(field, sum) {
		c.adoptReader(key, e)
	}
	c.Notify(keyevent.Hash, "hincrby", key)
	c.Out.Int(sum)
	return nil
}

func hincrbyfloat(c *Ctx) error {
	key, field, text := c.Argv[1], c.Argv[2], c.Argv[3]
	by, ok := resp.ParseLongDouble(text)
	switch {
	case !ok:
		return ErrNotFloat
	case by.IsInf():
		return ErrIncrNaN
	}
	e, ok := c.DB.OpenHash(key)
	if !ok {
		return ErrWrongType
	}
	var n resp.LongDouble
	if h := e.Hash(); h != nil {
		if old, found := h.Get(c.Scratch(), field); found && !c.DB.Overdue(h, field) {
			if n, ok = resp.ParseLongDouble(old); !ok {
				return ErrHashFloat
			}
		}
	}
	sum, ok := n.Add(by)
	if !ok {
		return ErrNaNOrInfinity
	}
	val := sum.Append(c.Scratch())
	e.Update(field, val)
	c.Notify(keyevent.Hash, "hincrbyfloat", key)
	c.Out.Bulk(val)
	return nil
}
