package commands

import (
	"math"
	"strconv"

	"lockserver/internal/keyevent"
	"lockserver/store"
)

// pendingOrder is one call that changes an order: SECKILL.CONFIRM, SECKILL.CANCEL, SECKILL.EXTEND.
type pendingOrder struct {
	voucher, user, order []byte
	sale                 sale
	record               orderRecord
}

// find finds the order. open: it can still go either way.
func (t *pendingOrder) find(c *Ctx) (open bool, err error) {
	if t.sale, err = findSale(c, t.voucher); err != nil {
		return false, err
	}
	if !t.sale.made {
		if _, err := findStock(c, t.voucher); err != nil {
			return false, err
		}
		return false, ErrSaleBare(t.voucher)
	}
	t.record, err = owned(c, t.voucher, t.user, t.order)
	// plant:order-open
	return t.record.state == orderSold || t.record.state == orderHeld, err
}

// seckillConfirm makes an order final.
func seckillConfirm(c *Ctx) error {
	var t pendingOrder
	a := c.Args()
	t.voucher, t.user, t.order = readOrder(a)
	if err := a.Err(); err != nil {
		return err
	}
	open, err := t.find(c)
	if err != nil {
		return err
	}
	if !open {
		c.Out.Int(0)
		return nil
	}
	t.finish(c, orderPaid)
	c.Notify(keyevent.Generic, "seckill.confirm", saleKey(c, stockPrefix, t.voucher))
	c.Out.Int(1)
	return nil
}

// seckillCancel takes an order back, or some of its pieces.
func seckillCancel(c *Ctx) error {
	var t pendingOrder
	a := c.Args()
	t.voucher, t.user, t.order = readOrder(a)
	qty, part := int64(0), false
	if a.More() && a.Option() == "QTY" {
		if qty, part = a.IntOr(ErrSaleQuantity), true; qty < 1 {
			a.Fail(ErrSaleQuantity)
		}
	}
	if a.More() {
		a.Syntax()
	}
	if err := a.Err(); err != nil {
		return err
	}
	open, err := t.find(c)
	switch {
	case err != nil:
		return err
	case !open:
		c.Out.Int(0)
		return nil
	case part && qty > t.record.qty:
		return ErrSaleReturn(t.order, t.record.qty)
	case !part:
		qty = t.record.qty
	}
	if err := t.takeBack(c, qty, "seckill.cancel", "cancelled"); err != nil {
		return err
	}
	c.Out.Int(1)
	return nil
}

// takeBack takes pieces of an order back that is held or sold: all of them, or fewer. Or it changes nothing
// and says why that cannot be done. reason tells the readers of the stream of such orders why.
func (t *pendingOrder) takeBack(c *Ctx, qty int64, event, reason string) error {
	stock, err := findStock(c, t.voucher)
	if err != nil {
		return err
	}
	if stock > math.MaxInt64-qty {
		return ErrOverflow
	}
	t.user = Clone(t.record.user) // the change of the record takes it away
	has, err := piecesOf(c, t.voucher, t.user)
	if err != nil {
		return err
	}
	if !holdsKind(c, piecesPrefix, t.voucher, store.Hash) || !holdsKind(c, holdsPrefix, t.voucher, store.ZSet) {
		return ErrWrongType
	}
	streamKey := append(t.sale.streamKey(c.names[1][:0]), cancelledSuffix...)
	id, err := nextEntryID(c, streamKey, t.voucher, t.user, t.order)
	if err != nil {
		return err
	}
	stockKey := saleKey(c, stockPrefix, t.voucher)
	c.DB.EditString(stockKey).SetInt(stock + qty)
	c.Notify(keyevent.Generic, event, stockKey)
	c.Notify(keyevent.String, "incrby", stockKey)
	setPieces(c, t.voucher, t.user, has, max(has-qty, 0))
	fields := [...][]byte{userField, t.user, voucherField, t.voucher, idField, t.order,
		qtyField, strconv.AppendInt(c.Scratch(), qty, 10), reasonField, []byte(reason), leftField, nil}
	given := fields[:len(fields)-2]
	if left := t.record.qty - qty; left == 0 {
		t.finish(c, orderGone)
	} else {
		t.shrink(c, left)
		fields[len(fields)-1] = strconv.AppendInt(nil, left, 10)
		given = fields[:]
	}
	taken := c.DB.EditStream(streamKey)
	taken.Add(id, given)
	c.Notify(keyevent.Stream, "xadd", streamKey)
	return nil
}

// finish ends the hold of an order, if it has one, and writes its new state into its
// record and the sums of the sale.
func (t *pendingOrder) finish(c *Ctx, state orderState) {
	// plant:finish-hold
	dropHold(c, t.voucher, t.order)
	was, qty := t.record.state, t.record.qty
	t.write(c, &orderRecord{state: state, qty: qty, user: t.user})
	key := saleKey(c, salePrefix, t.voucher)
	sums := c.DB.EditHash(key)
	if was == orderHeld {
		sums.SetInt(heldField, t.sale.held-qty)
	}
	if state == orderPaid {
		sums.SetInt(confirmedField, t.sale.confirmed+qty)
	} else {
		sums.SetInt(soldField, t.sale.sold-qty)
		sums.SetInt(returnedField, min(t.sale.returned, math.MaxInt64-qty)+qty)
	}
	c.Notify(keyevent.Hash, "hset", key)
}

// shrink leaves an order fewer pieces. Its state and its hold stay.
func (t *pendingOrder) shrink(c *Ctx, left int64) {
	was, gone := t.record.state, t.record.qty-left
	t.write(c, &orderRecord{state: was, qty: left, user: t.user, heldMS: t.record.heldMS})
	key := saleKey(c, salePrefix, t.voucher)
	sums := c.DB.EditHash(key)
	// plant:sale-part
	if was == orderHeld {
		sums.SetInt(heldField, t.sale.held-gone)
	}
	sums.SetInt(soldField, t.sale.sold-gone)
	sums.SetInt(returnedField, min(t.sale.returned, math.MaxInt64-gone)+gone)
	c.Notify(keyevent.Hash, "hset", key)
}

// write replaces the record of the order.
func (t *pendingOrder) write(c *Ctx, o *orderRecord) {
	var text [80]byte
	key := saleKey(c, ordersPrefix, t.voucher)
	orders := c.DB.EditHash(key)
	orders.Set(t.order, o.appendTo(text[:0]))
	c.Notify(keyevent.Hash, "hset", key)
}

// dropHold ends the hold of an order, if it has one.
func dropHold(c *Ctx, voucher, order []byte) {
	key := saleKey(c, holdsPrefix, voucher)
	holds := c.DB.EditZSet(key)
	if holds.Remove(order) {
		c.NotifyTaken(keyevent.ZSet, "zrem", key, holds.ZSet() == nil)
	}
}
