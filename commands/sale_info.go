package commands

import (
	"lockserver/internal/decimal"
	"lockserver/internal/glob"
	"lockserver/store"
	"lockserver/store/stream"
)

// seckillInfo describes a sale. A sale on bare keys has fewer data; its figures assume one piece for each
// buyer.
func seckillInfo(c *Ctx) error {
	a := c.Args()
	voucher := readSaleID(a, ErrSaleVoucher)
	if err := a.Err(); err != nil {
		return err
	}
	stock, err := findStock(c, voucher)
	if err != nil {
		return err
	}
	s, err := findSale(c, voucher)
	if err != nil {
		return err
	}
	r := c.DB.Peek(saleKey(c, buyersPrefix, voucher))
	if !r.Is(store.Set) {
		return ErrWrongType
	}
	buyers := int64(0)
	if r.OK() {
		buyers = int64(r.Set().Len())
	}
	if !s.made {
		s.sold, s.total = buyers, stock+buyers
	}
	key := s.streamKey(nil)
	orders, err := c.streamToWrite(key)
	if err != nil {
		return err
	}
	fields := 14
	if s.rate.count != 0 {
		fields += 4
	}
	if s.holdMaxMS != 0 {
		fields++
	}
	c.Out.Map(fields)
	c.Out.BulkString("state")
	c.Out.BulkString(s.state(stock, c.NowMS()))
	for _, f := range []struct {
		name  string
		value int64
	}{{"stock", stock}, {"total", s.total}, {"sold", s.sold}, {"held", s.held}, {"confirmed", s.confirmed},
		{"buyers", buyers}, {"start", s.startMS}, {"end", s.endMS}, {"limit", s.limit}, {"hold", s.holdMS}} {
		c.Out.BulkString(f.name)
		c.Out.Int(f.value)
	}
	if s.holdMaxMS != 0 {
		c.Out.BulkString("hold-max")
		c.Out.Int(s.holdMaxMS)
	}
	s.writeRate(c)
	c.Out.BulkString("stream")
	c.Out.Bulk(key)
	writeReading(c, orders)
	return nil
}

// state is the word for a sale at a time.
func (s *sale) state(stock, nowMS int64) string {
	switch {
	case !s.started(nowMS):
		return "pending"
	case s.ended(nowMS):
		return "ended"
	case stock <= 0:
		return "soldout"
	}
	return "open"
}

// writeReading writes two fields about the stream of orders: the stream, nil before the first order, and
// its consumer groups.
func writeReading(c *Ctx, s *stream.Stream) {
	c.Out.BulkString("stream-length")
	if s == nil {
		c.Out.Int(0)
		c.Out.BulkString("groups")
		c.Out.Array(0)
		return
	}
	c.Out.Int(int64(s.Len()))
	c.Out.BulkString("groups")
	c.Out.Array(len(s.Groups()))
	for _, g := range s.Groups() {
		c.Out.Map(3)
		c.Out.BulkString("name")
		c.Out.BulkString(g.Name())
		c.Out.BulkString("pending")
		c.Out.Int(int64(g.PendingLen()))
		c.Out.BulkString("lag")
		if lag, ok := g.Lag(s); ok {
			c.Out.Int(lag)
		} else {
			c.Out.Null()
		}
	}
}

// SaleFigures is how a sale stands.
type SaleFigures struct {
	Voucher                      string
	Stock, Sold, Held, Confirmed int64 // pieces
	Returned                     int64 // those that were ever taken back, and are not in Sold any more
	Groups                       []SaleGroup
}

// SaleGroup is one of the groups that read the orders of a sale.
type SaleGroup struct {
	Name    string
	Pending int64
	Lag     int64 // orders that it has not been given; -1: not known
}

// FindSale returns the figures of the sale of a voucher; ok is false if its keys hold no sale. It does not
// count as a look-up.
func FindSale(db *store.DB, voucher string) (f SaleFigures, ok bool) {
	c := Ctx{DB: db}
	name := []byte(voucher)
	r := db.Peek(saleKey(&c, stockPrefix, name))
	if !r.OK() || !r.Is(store.String) {
		return f, false
	}
	stock, ok := decimal.ParseInt(r.Bytes())
	if !ok {
		return f, false
	}
	s, err := findSale(&c, name)
	if err != nil {
		return f, false
	}
	if !s.made {
		if buyers := db.Peek(saleKey(&c, buyersPrefix, name)); buyers.OK() && buyers.Is(store.Set) {
			s.sold = int64(buyers.Set().Len())
		}
	}
	f = SaleFigures{Voucher: voucher, Stock: stock, Sold: s.sold, Held: s.held, Confirmed: s.confirmed, Returned: s.returned}
	orders := db.Peek(s.streamKey(nil))
	if !orders.OK() || !orders.Is(store.Stream) {
		return f, true
	}
	for _, g := range orders.Stream().Groups() {
		group := SaleGroup{Name: g.Name(), Pending: int64(g.PendingLen()), Lag: -1}
		if lag, known := g.Lag(orders.Stream()); known {
			group.Lag = lag
		}
		f.Groups = append(f.Groups, group)
	}
	return f, true
}

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
	next := c.DB.Keys().StocksBelow(cursor, PieceOf(count), func(key string) {
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
