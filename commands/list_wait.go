package commands

import (
	"lockserver/store"
	"lockserver/store/list"
)

func blpop(c *Ctx) error { return popOrWait(c, list.Left) }
func brpop(c *Ctx) error { return popOrWait(c, list.Right) }

// popOrWait is BLPOP and BRPOP.
func popOrWait(c *Ctx, side list.Side) error {
	a := c.Args()
	p := popCall{keys: a.Take(a.Left() - 1), side: side}
	deadlineMS := a.Deadline(c.NowMS())
	if err := a.Err(); err != nil {
		return err
	}
	return p.runOrWait(c, deadlineMS)
}

// blmpop says what is wrong with the timeout last, as Redis does.
func blmpop(c *Ctx) error {
	a := c.Args()
	timeout := *a
	a.Bytes()
	var p popCall
	p.readMany(a)
	if err := a.Err(); err != nil {
		return err
	}
	deadlineMS := timeout.Deadline(c.NowMS())
	if err := timeout.Err(); err != nil {
		return err
	}
	return p.runOrWait(c, deadlineMS)
}

// runOrWait pops, or makes the client wait until it can.
func (p *popCall) runOrWait(c *Ctx, deadlineMS int64) error {
	if done, err := p.run(c); done || err != nil {
		return err
	}
	own := popCall{side: p.side, count: p.count}
	for _, key := range p.keys {
		own.keys = append(own.keys, Own(key))
	}
	return c.Block(Wait{Keys: own.keys, Kind: store.List, DeadlineMS: deadlineMS,
		Try:      func(c *Ctx) (bool, error) { return own.retry(c), nil },
		TimedOut: func(c *Ctx) { c.Out.NullArray() }})
}
