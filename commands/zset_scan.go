package commands

import "lockserver/store/zset"

func zscan(c *Ctx) error {
	a := c.Args()
	key, cursor := a.Key(), a.Cursor()
	if err := a.Err(); err != nil {
		return err
	}
	z, err := c.findZSet(key)
	if err != nil {
		return err
	}
	if z == nil {
		emptyScan(c.Out)
		return nil
	}
	opts, err := containerScanOptions(a)
	if err != nil {
		return err
	}
	// Redis writes a score as it is stored in a listpack, and other scores with 17 digits.
	spell := zset.AppendLong
	if z.Encoding() == "listpack" {
		spell = zset.AppendPacked
	}
	mark, n := c.Out.Mark(), 0
	cursor = z.Scan(cursor, opts.count, func(member []byte, score float64) {
		if opts.passes(member) {
			c.Out.Bulk(member)
			c.Out.Bulk(spell(c.Scratch(), score))
			n += 2
		}
	})
	finishScan(c.Out, mark, cursor, n)
	return nil
}
