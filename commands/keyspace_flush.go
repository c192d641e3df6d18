package commands

// dbsize counts overdue keys that have not been removed yet, as Redis does.
func dbsize(c *Ctx) error {
	c.Out.Int(int64(c.DB.Len()))
	return nil
}

func flushdb(c *Ctx) error {
	return empty(c, c.DB.Flush)
}

func flushall(c *Ctx) error {
	return empty(c, func() int {
		n := c.DB.Store().FlushAll()
		c.Host.Emptied()
		return n
	})
}

// empty runs a command that empties databases; flush returns the number of removed keys. With or without
// ASYNC a database is dropped at once, and the garbage collector frees its memory. Without ASYNC the client
// gets its invalidation messages before the reply. The keys count as freed lazily, except those of a SYNC
// that may not wait.
func empty(c *Ctx, flush func() int) error {
	a := c.Args()
	async := c.DB.Store().Lazy().UserFlush
	if a.More() {
		async = a.Option() == "ASYNC"
	}
	if a.More() {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	n := flush()
	if async || c.MayBlock {
		c.DB.Store().CountFreed(n)
	}
	if !async && c.MayBlock {
		c.Host.TellFirst(c)
	}
	c.Out.OK()
	return nil
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

// readSwapIndex reads the number of a database. It reports err if the number does not fit into 32 bits.
func readSwapIndex(a *Scanner, err Error) int {
	n := a.IntOr(err)
	if n != int64(int32(n)) {
		a.Fail(err)
	}
	return int(n)
}
