package commands

func bzpopmin(c *Ctx) error { return popScoredOrWait(c, false) }
func bzpopmax(c *Ctx) error { return popScoredOrWait(c, true) }

// popScoredOrWait is BZPOPMIN and BZPOPMAX.
func popScoredOrWait(c *Ctx, highest bool) error {
	a := c.Args()
	p := popScoredCall{keys: a.Take(a.Left() - 1), highest: highest}
	deadlineMS := a.Deadline(c.NowMS())
	if err := a.Err(); err != nil {
		return err
	}
	return p.runOrWait(c, deadlineMS)
}

// bzmpop says what is wrong with the timeout last, as Redis does.
func bzmpop(c *Ctx) error {
	a := c.Args()
	timeout := *a
	a.Bytes()
	var p popScoredCall
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
func (p *popScoredCall) runOrWait(c *Ctx, deadlineMS int64) error {
	if done, err := p.run(c); done || err != nil {
		return err
	}
	own := popScoredCall{highest: p.highest, count: p.count}
	for _, key := range p.keys {
		own.keys = append(own.keys, Own(key))
	}
	return c.Block(Wait{Keys: own.keys, DeadlineMS: deadlineMS,
		Try:      func(c *Ctx) (bool, error) { return own.retry(c), nil },
		TimedOut: func(c *Ctx) { c.Out.NullArray() }})
}
