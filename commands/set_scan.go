package commands

func sscan(c *Ctx) error {
	a := c.Args()
	key, cursor := a.Key(), a.Cursor()
	if err := a.Err(); err != nil {
		return err
	}
	s, err := c.findSet(key)
	if err != nil {
		return err
	}
	if s == nil {
		emptyScan(c.Out)
		return nil
	}
	opts, err := containerScanOptions(a)
	if err != nil {
		return err
	}
	mark, n := c.Out.Mark(), 0
	cursor = s.Scan(cursor, opts.count, func(member []byte) {
		if opts.passes(member) {
			c.Out.Bulk(member)
			n++
		}
	})
	finishScan(c.Out, mark, cursor, n)
	return nil
}
