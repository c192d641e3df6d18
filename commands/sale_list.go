package commands

import "lockserver/internal/glob"

// seckillList lists the vouchers with a stock in the database that the client may read, the latest first. It
// is called like SCAN, with the cursor of its last reply.
func seckillList(c *Ctx) error {
	a := c.Args()
	cursor := a.Cursor()
	var pattern []byte
	count := int64(-1)
	for a.More() {
		switch a.Option() {
		case "MATCH":
			pattern = a.Bytes()
		case "COUNT":
			if count = a.IntOr(ErrNotPositive); count < 1 {
				a.Fail(ErrNotPositive)
			}
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	var found []string
	next := c.DB.StocksBelow(cursor, PieceOf(count), func(key string) {
		voucher := key[len(stockPrefix):]
		if (pattern == nil || glob.Match(pattern, []byte(voucher), false)) && c.Host.MayRead(c, []byte(key)) {
			found = append(found, voucher)
		}
	})
	c.WritePiece(next, len(found))
	for _, voucher := range found {
		c.Out.BulkString(voucher)
	}
	return nil
}
