package commands

import (
	"bytes"
	"strconv"

	"lockserver/internal/keyevent"
	"lockserver/store"
	"lockserver/store/stream"
)

// SECKILL's replies.
const (
	saleSold       = 0
	saleNoStock    = 1
	saleHasBought  = 2
	saleNotStarted = 3
	saleOver       = 4
	saleTakenBack  = 5
	saleTooFast    = 6
)

// purchase is one call of SECKILL.
type purchase struct {
	voucher, user, order []byte
	qty                  int64
	sale                 sale
	stock                int64      // before it
	was                  orderState // of its order, before it; empty: there is no such order
	have                 int64      // pieces that the user has already
	again                bool       // the order has been sold before, and stands: this is a retry
	heldMS               int64      // when the hold began, if its record has to say so; else 0
	ask                  ask
}

// seckill checks everything before it changes anything: stock deducted, user
// remembered, order appended, or nothing.
func seckill(c *Ctx) error {
	p := purchase{qty: 1}
	if err := p.read(c.Args()); err != nil {
		return err
	}
	answer, err := p.decide(c)
	if err == nil && answer == saleSold && !p.again {
		err = p.sell(c)
	}
	if err != nil {
		return err
	}
	p.keepAsk(c)
	c.Out.Int(answer)
	return nil
}

func (p *purchase) read(a *Scanner) error {
	p.voucher, p.user, p.order = readOrder(a)
	if a.More() && a.Option() == "QTY" {
		if p.qty = a.IntOr(ErrSaleQuantity); p.qty < 1 {
			a.Fail(ErrSaleQuantity)
		}
	}
	if a.More() {
		a.Syntax()
	}
	return a.Err()
}

// decide finds the answer, with the checks in the order of the script: the stock first. Most calls come when
// the stock is empty, so that check must be cheap. Only a retry is detected before, because a retry gets the
// result of its order even when the sale is sold out or over.
func (p *purchase) decide(c *Ctx) (answer int64, err error) {
	if err := p.look(c); err != nil {
		return 0, err
	}
	return p.judge(c)
}

// look reads the stock, and what became of the order. An order of a sale on bare keys has no record.
func (p *purchase) look(c *Ctx) (err error) {
	if p.stock, err = findStock(c, p.voucher); err != nil {
		return err
	}
	o, err := owned(c, p.voucher, p.user, p.order)
	p.was = o.state
	return err
}

// judge is decide behind look.
func (p *purchase) judge(c *Ctx) (answer int64, err error) {
	// plant:sale-taken-back
	if p.was == orderGone {
		return saleTakenBack, nil
	}
	// plant:sale-again
	if p.again = p.was != ""; p.again {
		return saleSold, nil
	}
	if p.stock <= 0 {
		return saleNoStock, nil
	}
	if p.sale, err = findSale(c, p.voucher); err != nil {
		return 0, err
	}
	switch {
	case p.qty > p.sale.limit:
		return 0, ErrSaleLimit(p.sale.limit)
	case !p.sale.started(c.NowMS()):
		return saleNotStarted, nil
	case p.sale.ended(c.NowMS()):
		return saleOver, nil
	}
	if ok, err := p.admits(c); !ok {
		return saleTooFast, err
	}
	// plant:sale-stock
	if p.stock < p.qty {
		return saleNoStock, nil
	}
	if p.have, err = piecesOf(c, p.voucher, p.user); err != nil {
		return 0, err
	}
	// plant:sale-limit
	if p.have > p.sale.limit-p.qty {
		return saleHasBought, nil
	}
	return saleSold, nil
}

// sell carries a purchase out that decide has found to be good, unless a key that it
// writes to holds something else.
func (p *purchase) sell(c *Ctx) error {
	streamKey := p.sale.streamKey(c.names[1][:0])
	id, err := nextEntryID(c, streamKey, p.voucher, p.user, p.order)
	if err != nil {
		return err
	}
	if err := p.mayWrite(c); err != nil {
		return err
	}
	p.sellAs(c, streamKey, id)
	return nil
}

// sellAs carries out a purchase for which nothing is in the way, with an entry in a stream.
func (p *purchase) sellAs(c *Ctx, streamKey []byte, id stream.ID) {
	stockKey := saleKey(c, stockPrefix, p.voucher)
	c.DB.EditString(stockKey).SetInt(p.stock - p.qty)
	c.Notify(keyevent.Generic, "seckill", stockKey)
	c.Notify(keyevent.String, "incrby", stockKey)
	setPieces(c, p.voucher, p.user, p.have, p.have+p.qty)
	if p.sale.made {
		p.record(c)
	}
	fields := [...][]byte{userField, p.user, voucherField, p.voucher, idField, p.order,
		qtyField, strconv.AppendInt(c.Scratch(), p.qty, 10)}
	given := fields[:]
	if !p.sale.made { // exactly what the script leaves
		given = fields[:len(fields)-2]
	}
	orders := c.DB.EditStream(streamKey)
	// plant:sale-stream
	orders.Add(id, given)
	c.Notify(keyevent.Stream, "xadd", streamKey)
}

// mayWrite checks the keys that decide has not looked at.
func (p *purchase) mayWrite(c *Ctx) error {
	if p.have+p.qty > 1 && !holdsKind(c, piecesPrefix, p.voucher, store.Hash) {
		return ErrWrongType
	}
	if p.sale.holdMS > 0 && !holdsKind(c, holdsPrefix, p.voucher, store.ZSet) {
		return ErrWrongType
	}
	return nil
}

// record stores the data of an order that only a sale made with SECKILL.CREATE has.
func (p *purchase) record(c *Ctx) {
	var text [80]byte
	o := orderRecord{state: orderSold, qty: p.qty, user: p.user}
	if p.sale.holdMS > 0 {
		o.state, o.heldMS = orderHeld, p.heldMS
		key := saleKey(c, holdsPrefix, p.voucher)
		holds := c.DB.EditZSet(key)
		// plant:sale-hold
		holds.Set(p.order, float64(c.CeilNowMS()+min(p.sale.holdMS, maxHoldMS)))
		c.Notify(keyevent.ZSet, "zadd", key)
	}
	key := saleKey(c, ordersPrefix, p.voucher)
	orders := c.DB.EditHash(key)
	orders.Set(p.order, o.appendTo(text[:0]))
	c.Notify(keyevent.Hash, "hset", key)
	key = saleKey(c, salePrefix, p.voucher)
	sums := c.DB.EditHash(key)
	sums.SetInt(soldField, p.sale.sold+p.qty)
	if o.state == orderHeld {
		sums.SetInt(heldField, p.sale.held+p.qty)
	}
	c.Notify(keyevent.Hash, "hset", key)
}

// setPieces records the number of pieces of a user, before and now: in the set of buyers, and in a second key
// if it is more than one.
func setPieces(c *Ctx, voucher, user []byte, had, has int64) {
	if had > 1 || has > 1 {
		key := saleKey(c, piecesPrefix, voucher)
		pieces := c.DB.EditHash(key)
		if has > 1 {
			pieces.SetInt(user, has)
			c.Notify(keyevent.Hash, "hset", key)
		} else if pieces.Delete(user) {
			c.NotifyTaken(keyevent.Hash, "hdel", key, pieces.Hash() == nil)
		}
	}
	if (had > 0) == (has > 0) {
		return
	}
	key := saleKey(c, buyersPrefix, voucher)
	buyers := c.DB.EditSet(key)
	if has > 0 {
		buyers.Add(user)
		c.Notify(keyevent.Set, "sadd", key)
	} else if buyers.Remove(user) { // plant:sale-buyer
		c.NotifyTaken(keyevent.Set, "srem", key, buyers.Set() == nil)
	}
}

// saleStream is streamToWrite for a stream of a sale, which cannot be one of the sale's other keys: those
// change in the same step, and are of other kinds.
func saleStream(c *Ctx, key, voucher []byte) (*stream.Stream, error) {
	if bytes.HasPrefix(key, saleKeyPrefix) {
		for _, prefix := range saleKeys {
			if bytes.Equal(key, saleKey(c, prefix, voucher)) {
				return nil, ErrWrongType
			}
		}
	}
	return c.streamToWrite(key)
}

// nextEntryID is the ID of the entry that is to be added to a stream of a sale, unless that cannot be done.
func nextEntryID(c *Ctx, key, voucher, user, order []byte) (id stream.ID, err error) {
	s, err := saleStream(c, key, voucher)
	if err != nil {
		return id, err
	}
	const overhead = 128 // for the names of the fields, and numbers
	if overhead+len(voucher)+len(user)+len(order) > stream.MaxEntryBytes {
		return id, ErrStreamEntry
	}
	return nextStreamID(c, s)
}

// holdsKind reports whether one of a sale's keys is missing or of a kind.
func holdsKind(c *Ctx, prefix string, voucher []byte, kind store.Kind) bool {
	r := c.DB.Peek(saleKey(c, prefix, voucher))
	return r.Is(kind)
}

// The fields of an order in its stream. Only a sale made with SECKILL.CREATE has qty, only an order that was
// taken back has reason, and left only an order that keeps some of its pieces.
var (
	userField    = []byte("userId")
	voucherField = []byte("voucherId")
	idField      = []byte("id")
	qtyField     = []byte("qty")
	reasonField  = []byte("reason")
	leftField    = []byte("left")
)
