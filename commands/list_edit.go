package commands

import (
	"math"

	"lockserver/internal/keyevent"
	"lockserver/store/list"
)

// lset checks the key before the index, as Redis does.
func lset(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	e, ok := c.DB.OpenList(key)
	switch {
	case !ok:
		return ErrWrongType
	case e.List() == nil:
		return ErrNoSuchKey
	}
	i, element := a.Int(), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	n := int64(e.Len())
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		e.PrepareFor(element)
		return ErrIndexRange
	}
	e.Set(int(i), element)
	c.Notify(keyevent.List, "lset", key)
	c.Out.OK()
	return nil
}

func linsert(c *Ctx) error {
	a := c.Args()
	key, where, pivot, element := a.Key(), a.Option(), a.Bytes(), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenList(key)
	switch {
	case !ok:
		return ErrWrongType
	case e.List() == nil:
		c.Out.Int(0)
	case e.Insert(where == "AFTER", pivot, element):
		c.Notify(keyevent.List, "linsert", key)
		c.Out.Int(int64(e.Len()))
	default:
		c.Out.Int(-1)
	}
	return nil
}

func lrem(c *Ctx) error {
	a := c.Args()
	key, count, element := a.Key(), a.Int(), a.Bytes()
	if count == math.MinInt64 {
		a.Fail(ErrCountRange)
	}
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenList(key)
	if !ok {
		return ErrWrongType
	}
	from := list.Left
	if count < 0 {
		from, count = list.Right, -count
	}
	removed := e.RemoveEqual(element, from, int(count))
	if removed > 0 {
		c.NotifyTaken(keyevent.List, "lrem", key, e.List() == nil)
	}
	c.Out.Int(int64(removed))
	return nil
}

func ltrim(c *Ctx) error {
	a := c.Args()
	key, start, stop := a.Key(), a.Int(), a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenList(key)
	if !ok {
		return ErrWrongType
	}
	if e.List() != nil {
		e.Trim(between(start, stop, e.Len()))
		c.NotifyTaken(keyevent.List, "ltrim", key, e.List() == nil)
	}
	c.Out.OK()
	return nil
}
