package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/list"
)

func lpop(c *Ctx) error { return popEnd(c, list.Left) }
func rpop(c *Ctx) error { return popEnd(c, list.Right) }

func lmpop(c *Ctx) error  { return popFirst(c, store.List) }
func blmpop(c *Ctx) error { return popFirstOrWait(c, store.List) }
func blpop(c *Ctx) error  { return popOneOrWait(c, store.List, false) }
func brpop(c *Ctx) error  { return popOneOrWait(c, store.List, true) }

// popEnd runs LPOP and RPOP.
func popEnd(c *Ctx, side list.Side) error {
	a := c.Args()
	key := a.Key()
	single := !a.More()
	count := int64(1)
	if a.Left() > 1 {
		a.Arity()
	}
	if !single {
		count = a.Uint()
	}
	if err := a.Err(); err != nil {
		return err
	}
	e, ok := c.DB.OpenList(key)
	switch {
	case !ok:
		return ErrWrongType
	case e.List() == nil && single:
		c.Out.Null()
	case e.List() == nil:
		c.Out.NullArray()
	case single:
		writePopped(c, key, &e, side, 1)
	default:
		n := int(min(count, int64(e.Len())))
		c.Out.Array(n)
		writePopped(c, key, &e, side, n)
	}
	return nil
}

// writePopped removes n existing elements from one end of key's list, and writes them.
func writePopped(c *Ctx, key []byte, e *store.ListEdit, side list.Side, n int) {
	e.Pop(side, n, func(v list.Value) { writeElement(c.Out, v) })
	if n > 0 {
		c.NotifyTaken(keyevent.List, popEvents[side], key, e.List() == nil)
	}
}

// readSide reads LEFT or RIGHT.
func readSide(a *Scanner) list.Side {
	switch a.Option() {
	case "LEFT":
		return list.Left
	case "RIGHT":
		return list.Right
	}
	a.Syntax()
	return list.Left
}

// popList pops from a list if it exists, and writes its key and the elements.
func (p *popCall) popList(c *Ctx, key []byte) (done bool, err error) {
	e, ok := c.DB.OpenList(key)
	switch {
	case !ok:
		return false, ErrWrongType
	case e.List() == nil:
		return false, nil
	}
	c.Out.Array(2)
	c.Out.Bulk(key)
	n, side := 1, list.Left
	if p.last {
		side = list.Right
	}
	if p.count > 0 {
		n = int(min(p.count, int64(e.Len())))
		c.Out.Array(n)
	}
	writePopped(c, key, &e, side, n)
	return true, nil
}
