package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/list"
)

func lpop(c *Ctx) error { return popList(c, list.Left) }
func rpop(c *Ctx) error { return popList(c, list.Right) }

// popList is LPOP and RPOP.
func popList(c *Ctx, side list.Side) error {
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

// writePopped takes n elements, all of which exist, out at one end of key's list, and writes them.
func writePopped(c *Ctx, key []byte, e *store.ListEdit, side list.Side, n int) {
	e.Pop(side, n, func(v list.Value) { writeElement(c.Out, v) })
	if n > 0 {
		c.notifyTaken(keyevent.List, popEvents[side], key, e.List() == nil)
	}
}

// popCall is what a pop from the first list of several asks for.
type popCall struct {
	keys  [][]byte
	side  list.Side
	count int64 // most elements, written as an array; 0: one, written alone
}

func lmpop(c *Ctx) error {
	a := c.Args()
	var p popCall
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

// readMany reads "numkeys key [key ...] LEFT|RIGHT [COUNT count]".
func (p *popCall) readMany(a *Scanner) {
	n := a.IntOr(ErrNumKeysZero)
	switch {
	case a.Err() == nil && n < 1:
		a.Fail(ErrNumKeysZero)
	case n > int64(a.Left()):
		a.Syntax()
	}
	p.keys = a.Take(int(n))
	p.side = readSide(a)
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

// run pops from the first key that is a list, and reports whether there is one; if not, nothing is written. A
// key of another type before it is an error.
func (p *popCall) run(c *Ctx) (done bool, err error) {
	for _, key := range p.keys {
		e, ok := c.DB.OpenList(key)
		switch {
		case !ok:
			return false, ErrWrongType
		case e.List() != nil:
			p.write(c, key, &e)
			return true, nil
		}
	}
	return false, nil
}

// retry is run for a client that waits: a key of another type is no error but waited for on. If one unit
// has filled several of the lists, the first in the client's own order is taken; Redis 7.0 takes the one
// filled first, and 7.2 does as this.
func (p *popCall) retry(c *Ctx) (done bool) {
	for _, key := range p.keys {
		if e, ok := c.DB.OpenList(key); ok && e.List() != nil {
			p.write(c, key, &e)
			return true
		}
	}
	return false
}

// write pops from a list that is there and writes its key and the elements.
func (p *popCall) write(c *Ctx, key []byte, e *store.ListEdit) {
	c.Out.Array(2)
	c.Out.Bulk(key)
	n := 1
	if p.count > 0 {
		n = int(min(p.count, int64(e.Len())))
		c.Out.Array(n)
	}
	writePopped(c, key, e, p.side, n)
}
