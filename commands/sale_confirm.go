package commands

import (
	"math"
	"strconv"

	"lockserver/internal/keyevent"
	"lockserver/store"
)

// pendingOrder is one call of SECKILL.CONFIRM or SECKILL.CANCEL.
type pendingOrder struct {
	voucher, user, order []byte
	sale                 sale
	record               orderRecord
}

// read finds the order. open: it can still go either way.
func (t *pendingOrder) read(c *Ctx) (open bool, err error) {
	a := c.Args()
	t.voucher, t.user, t.order = readOrder(a)
	if err := a.Err(); err != nil {
		return false, err
	}
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
	open, err := t.read(c)
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

// seckillCancel takes an order back.
func seckillCancel(c *Ctx) error {
	var t pendingOrder
	open, err := t.read(c)
	if err != nil {
		return err
	}
	if !open {
		c.Out.Int(0)
		return nil
	}
	if err := t.takeBack(c, "seckill.cancel", "cancelled"); err != nil {
		return err
	}
	c.Out.Int(1)
	return nil
}

// takeBack undoes an order that is held or sold, or changes nothing and says why that cannot be done. reason
// tells the readers of the stream of such orders.
func (t *pendingOrder) takeBack(c *Ctx, event, reason string) error {
	stock, err := findStock(c, t.voucher)
	if err != nil {
		return err
	}
	if stock > math.MaxInt64-t.record.qty {
		return ErrOverflow
	}
	t.user = Clone(t.record.user) // which the change of the record would take away
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
	c.DB.SetInt(stockKey, stock+t.record.qty)
	c.Notify(keyevent.Generic, event, stockKey)
	c.Notify(keyevent.String, "incrby", stockKey)
	setPieces(c, t.voucher, t.user, has, max(has-t.record.qty, 0))
	t.finish(c, orderGone)
	taken := c.DB.EditStream(streamKey)
	taken.Add(id, [][]byte{userField, t.user, voucherField, t.voucher, idField, t.order,
		qtyField, strconv.AppendInt(c.Scratch(), t.record.qty, 10), reasonField, []byte(reason)})
	c.Notify(keyevent.Stream, "xadd", streamKey)
	return nil
}

// finish ends the hold of an order, if it has one, and writes its new state into its
// record and the sums of the sale.
func (t *pendingOrder) finish(c *Ctx, state orderState) {
	var text [64]byte
	// plant:finish-hold
	dropHold(c, t.voucher, t.order)
	was, qty := t.record.state, t.record.qty
	key := saleKey(c, ordersPrefix, t.voucher)
	o := orderRecord{state, qty, t.user}
	orders := c.DB.EditHash(key)
	orders.Set(t.order, o.appendTo(text[:0]))
	c.Notify(keyevent.Hash, "hset", key)
	key = saleKey(c, salePrefix, t.voucher)
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

// dropHold ends the hold of an order, if it has one.
func dropHold(c *Ctx, voucher, order []byte) {
	key := saleKey(c, holdsPrefix, voucher)
	holds := c.DB.EditZSet(key)
	if holds.Remove(order) {
		c.NotifyTaken(keyevent.ZSet, "zrem", key, holds.ZSet() == nil)
	}
}
