package commands

import "lockserver/store"

// popCall is a pop from the first of several keys that has elements. The commands are LMPOP, BLPOP, BRPOP and
// BLMPOP for lists, and ZMPOP, BZPOPMIN, BZPOPMAX and BZMPOP for sorted sets.
type popCall struct {
	kind  store.Kind // List or ZSet
	keys  [][]byte
	last  bool  // from the right end of a list, or the highest of a sorted set
	count int64 // the largest number of elements, written as an array; 0: one element, written alone
	waits bool  // the command can block: Redis looks up the key twice for these
}

// popFirst runs LMPOP and ZMPOP.
func popFirst(c *Ctx, kind store.Kind) error {
	a := c.Args()
	p := popCall{kind: kind}
	p.read(a)
	if err := a.Err(); err != nil {
		return err
	}
	if done, err := p.run(c); done || err != nil {
		return err
	}
	c.Out.NullArray()
	return nil
}

// popOneOrWait runs BLPOP, BRPOP, BZPOPMIN and BZPOPMAX.
func popOneOrWait(c *Ctx, kind store.Kind, last bool) error {
	a := c.Args()
	p := popCall{kind: kind, keys: a.Take(a.Left() - 1), last: last, waits: true}
	deadlineMS := a.Deadline(c.CeilNowMS())
	if err := a.Err(); err != nil {
		return err
	}
	return p.runOrWait(c, deadlineMS)
}

// popFirstOrWait runs BLMPOP and BZMPOP. It reports an error in the timeout last, as Redis does.
func popFirstOrWait(c *Ctx, kind store.Kind) error {
	a := c.Args()
	timeout := *a
	a.Bytes()
	p := popCall{kind: kind, waits: true}
	p.read(a)
	if err := a.Err(); err != nil {
		return err
	}
	deadlineMS := timeout.Deadline(c.CeilNowMS())
	if err := timeout.Err(); err != nil {
		return err
	}
	return p.runOrWait(c, deadlineMS)
}

// read reads "numkeys key [key ...] LEFT|RIGHT [COUNT count]", or MIN|MAX if the row has that.
func (p *popCall) read(a *Scanner) {
	p.keys = a.CountedKeys(0, ErrSyntax)
	switch a.Option() {
	case "LEFT", "MIN":
	case "RIGHT", "MAX":
		p.last = true
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

// run pops from the first key that exists, and reports whether there is one; if not, nothing is written. A
// key of another type before it is an error, also after a wait.
func (p *popCall) run(c *Ctx) (done bool, err error) {
	for _, key := range p.keys {
		if done, err = p.popAt(c, key); done || err != nil {
			break
		}
	}
	return done, err
}

// popAt pops from a key if it exists, and writes the key and the elements.
func (p *popCall) popAt(c *Ctx, key []byte) (done bool, err error) {
	if p.kind == store.List {
		return p.popList(c, key)
	}
	return p.popZSet(c, key)
}

// runOrWait pops, or makes the client wait until it can.
func (p *popCall) runOrWait(c *Ctx, deadlineMS int64) error {
	if done, err := p.run(c); done || err != nil {
		return err
	}
	own := *p
	own.keys = CloneAll(p.keys)
	return c.Block(Wait{Keys: own.keys, Kind: p.kind, DeadlineMS: deadlineMS,
		Try: own.run, TimedOut: func(c *Ctx) { c.Out.NullArray() }})
}
