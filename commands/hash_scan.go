package commands

func hscan(c *Ctx) error {
	a := c.Args()
	key, cursor := a.Key(), a.Cursor()
	if err := a.Err(); err != nil {
		return err
	}
	h, err := c.findHash(key)
	if err != nil {
		return err
	}
	if h == nil {
		emptyScan(c.Out)
		return nil
	}
	s, err := containerScanOptions(a)
	if err != nil {
		return err
	}
	mark, n := c.Out.Mark(), 0
	cursor = h.Scan(cursor, s.count, func(field, val []byte) {
		if !s.passes(field) || c.DB.Overdue(h, field) {
			return
		}
		c.Out.Bulk(field)
		n++
		if !s.noValues {
			c.Out.Bulk(val)
			n++
		}
	})
	finishScan(c.Out, mark, cursor, n)
	return nil
}
