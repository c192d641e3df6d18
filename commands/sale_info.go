package commands

import (
	"lockserver/store"
	"lockserver/store/stream"
)

// seckillInfo tells of a sale. One on bare keys knows less, and what it knows is told
// as if each buyer had one piece.
func seckillInfo(c *Ctx) error {
	voucher := c.Args().Bytes()
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
	c.Out.Map(14)
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

// writeReading writes the two fields about the stream of orders, nil if there is
// none yet, and those who read it.
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
