package commands

import (
	"math"

	"lockserver/internal/keyevent"
)

// createCall is one call of SECKILL.CREATE.
type createCall struct {
	voucher        []byte
	stock          int64
	startMS, endMS int64 // endMS 0: none
	limit          int64
	holdMS         int64 // 0: none
	holdMaxMS      int64 // 0: no bound
	stream         []byte
	rate           saleRate
	replace        bool
}

// read takes the arguments; each option may stand once, in any order.
func (o *createCall) read(a *Scanner) error {
	o.voucher = readSaleID(a, ErrSaleVoucher)
	given := map[string]bool{}
	for a.More() {
		w := a.Option()
		if given[w] {
			a.Syntax()
		}
		given[w] = true
		switch w {
		case "STOCK":
			if o.stock = a.IntOr(ErrStock); o.stock < 0 {
				a.Fail(ErrStock)
			}
		case "START":
			if o.startMS = a.IntOr(ErrSaleTime); o.startMS < 0 {
				a.Fail(ErrSaleTime)
			}
		case "END":
			if o.endMS = a.IntOr(ErrSaleTime); o.endMS < 1 {
				a.Fail(ErrSaleTime)
			}
		case "LIMIT":
			if o.limit = a.IntOr(ErrSaleLimitValue); o.limit < 1 {
				a.Fail(ErrSaleLimitValue)
			}
		case "HOLD":
			if o.holdMS = a.IntOr(ErrSaleHold); o.holdMS < 1 || o.holdMS > maxHoldMS {
				a.Fail(ErrSaleHold)
			}
		case "HOLDMAX":
			if o.holdMaxMS = a.IntOr(ErrSaleHoldMax); o.holdMaxMS < 1 || o.holdMaxMS > maxHoldMS {
				a.Fail(ErrSaleHoldMax)
			}
		case "STREAM":
			o.stream = a.Bytes()
		case "RATE":
			o.readRate(a)
		case "BURST":
			if o.rate.burst = a.IntOr(ErrSaleBurst); o.rate.burst < 1 {
				a.Fail(ErrSaleBurst)
			}
		case "RATE-ALL":
			o.rate.all = true
		case "REPLACE":
			o.replace = true
		}
	}
	if !given["STOCK"] {
		a.Syntax()
	}
	if o.endMS != 0 && o.startMS >= o.endMS {
		a.Fail(ErrSaleWindow)
	}
	if o.holdMaxMS != 0 && (o.holdMS == 0 || o.holdMaxMS < o.holdMS) {
		a.Fail(ErrSaleHoldMax)
	}
	o.checkRate(a, given["BURST"])
	return a.Err()
}

// seckillCreate opens a sale. It refuses the name of an earlier sale while keys of that sale exist, even
// after its end: the keys may still be needed to compare the orders with.
func seckillCreate(c *Ctx) error {
	o := createCall{limit: 1, stream: []byte(orderStream)}
	if err := o.read(c.Args()); err != nil {
		return err
	}
	if _, err := saleStream(c, o.stream, o.voucher); err != nil {
		return err
	}
	if _, err := saleStream(c, append(Clone(o.stream), cancelledSuffix...), o.voucher); err != nil {
		return err
	}
	for _, prefix := range saleKeys {
		if !o.replace && c.DB.Peek(saleKey(c, prefix, o.voucher)).OK() {
			return ErrSaleExists(o.voucher)
		}
	}
	o.open(c)
	c.Out.OK()
	return nil
}

// open puts the sale in the place of whatever is left of another one.
func (o *createCall) open(c *Ctx) {
	for _, prefix := range saleKeys {
		if key := saleKey(c, prefix, o.voucher); c.DB.Delete(key) {
			c.Notify(keyevent.Generic, "del", key)
		}
	}
	key := saleKey(c, stockPrefix, o.voucher)
	c.DB.EditString(key).SetInt(o.stock)
	c.Notify(keyevent.Generic, "seckill.create", key)
	c.Notify(keyevent.String, "set", key)
	key = saleKey(c, salePrefix, o.voucher)
	h := c.DB.EditHash(key)
	h.Set(streamField, o.stream)
	h.SetInt(limitField, o.limit)
	for _, f := range []struct {
		field []byte
		value int64
	}{{startField, o.startMS}, {endField, o.endMS}, {holdField, o.holdMS}, {holdMaxField, o.holdMaxMS}} {
		if f.value != 0 {
			h.SetInt(f.field, f.value)
		}
	}
	o.rate.write(&h)
	h.SetInt(totalField, o.stock)
	for _, sum := range [][]byte{soldField, heldField, confirmedField} {
		h.SetInt(sum, 0)
	}
	c.Notify(keyevent.Hash, "hset", key)
}

// seckillRestock adds pieces to a sale or takes some, but never more than there are. A sale
// on bare keys has a stock, too.
func seckillRestock(c *Ctx) error {
	a := c.Args()
	voucher, n := readSaleID(a, ErrSaleVoucher), a.Int()
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
	// Sold pieces may come back, so the sum must fit, too.
	if n > 0 && stock > math.MaxInt64-n-max(s.sold, 0) || n < 0 && stock < math.MinInt64-n {
		return ErrOverflow
	}
	now := max(stock+n, 0)
	if now != stock {
		key := saleKey(c, stockPrefix, voucher)
		c.DB.EditString(key).SetInt(now)
		c.Notify(keyevent.Generic, "seckill.restock", key)
		c.Notify(keyevent.String, "incrby", key)
		if s.made {
			key := saleKey(c, salePrefix, voucher)
			h := c.DB.EditHash(key)
			// plant:sale-total
			h.SetInt(totalField, s.total+now-stock)
			c.Notify(keyevent.Hash, "hset", key)
		}
	}
	c.Out.Int(now)
	return nil
}
