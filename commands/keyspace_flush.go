package commands

// dbsize counts overdue keys that nobody has removed yet, as Redis does.
func dbsize(c *Ctx) error {
	c.Out.Int(int64(c.DB.Len()))
	return nil
}

func flushdb(c *Ctx) error {
	if err := readFlushMode(c); err != nil {
		return err
	}
	c.DB.Flush()
	c.Out.OK()
	return nil
}

func flushall(c *Ctx) error {
	if err := readFlushMode(c); err != nil {
		return err
	}
	c.DB.Store().FlushAll()
	c.Out.OK()
	return nil
}

// readFlushMode reads ASYNC or SYNC, which make no difference: a database is dropped at once and its
// memory is given back by the collector.
func readFlushMode(c *Ctx) error {
	a := c.Args()
	if a.More() {
		a.Option()
	}
	if a.More() {
		a.Syntax()
	}
	return a.Err()
}

func swapdb(c *Ctx) error {
	a := c.Args()
	x, y := readSwapIndex(a, ErrFirstDB), readSwapIndex(a, ErrSecondDB)
	if err := a.Err(); err != nil {
		return err
	}
	s := c.DB.Store()
	first, second := s.DB(x), s.DB(y)
	if first == nil || second == nil {
		return ErrDBIndex
	}
	s.SwapDB(first, second)
	c.Out.OK()
	return nil
}

// readSwapIndex reads the number of a database; err is for what does not fit into 32 bits.
func readSwapIndex(a *Scanner, err Error) int {
	n := a.IntOr(err)
	if n != int64(int32(n)) {
		a.Fail(err)
	}
	return int(n)
}
