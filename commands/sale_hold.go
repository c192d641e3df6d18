package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/store"
)

const (
	// maxHoldMS bounds a hold: with it, the end of one is a time that a sorted set's score holds exactly.
	maxHoldMS = 1 << 50
	// retryHoldMS is the time until the next attempt to end a hold that failed because the keys of its sale
	// were damaged. If the keys are restored by then, the pieces are returned.
	retryHoldMS = 1000
)

// EndHolds takes back orders with an expired hold, the earliest first, at most budget of them (a few
// microseconds each). It reports whether there may be more. The server calls it; c needs no session and no
// arguments, and its database changes.
func EndHolds(c *Ctx, st *store.Store, budget int) (more bool) {
	for budget > 0 {
		db, key, ok := st.DueSet(store.HoldAlarm, &budget)
		if !ok {
			return budget <= 0
		}
		c.DB = db
		budget -= endHoldsAt(c, key, budget)
	}
	return true
}

// endHoldsAt ends at most budget holds of one sale that are due and returns how
// many it looked at, at least one.
func endHoldsAt(c *Ctx, key []byte, budget int) (n int) {
	for n = 0; n < budget; {
		r := c.DB.Peek(key)
		if !r.OK() || !r.Is(store.ZSet) {
			break
		}
		order, score := r.ZSet().At(0, c.Scratch())
		if store.DueMS(score) > c.NowMS() {
			break
		}
		n++
		if err := endHold(c, key[len(holdsPrefix):], Clone(order)); err != nil {
			c.DB.PutOff(key, c.NowMS()+retryHoldMS)
			break
		}
	}
	return max(n, 1)
}

// ShiftHolds makes all holds of a database end so much later, or earlier if byMS is negative.
func ShiftHolds(db *store.DB, byMS int64) {
	type hold struct {
		order []byte
		endMS float64
	}
	for _, name := range db.Keys().AlarmSets(store.HoldAlarm) {
		key := []byte(name)
		if r := db.Peek(key); !r.OK() || !r.Is(store.ZSet) {
			continue
		}
		edit := db.EditZSet(key)
		var all []hold
		edit.ZSet().Range(0, edit.ZSet().Len(), func(order []byte, score float64) bool {
			all = append(all, hold{Clone(order), score + float64(byMS)})
			return true
		})
		for _, h := range all {
			edit.Set(h.order, h.endMS)
		}
	}
}

// seckillExtend lets a hold end later, for instance while the user pays. It never ends earlier.
func seckillExtend(c *Ctx) error {
	var t pendingOrder
	a := c.Args()
	t.voucher, t.user, t.order = readOrder(a)
	ms := a.IntOr(ErrSaleExtension)
	if ms < 1 || ms > maxHoldMS {
		a.Fail(ErrSaleExtension)
	}
	if err := a.Err(); err != nil {
		return err
	}
	if _, err := t.find(c); err != nil {
		return err
	}
	endMS, has, err := holdOf(c, t.voucher, t.order)
	switch {
	case err != nil:
		return err
	case !has || t.record.state != orderHeld:
		c.Out.Int(0)
		return nil
	}
	later := c.CeilNowMS() + ms
	beganMS := t.record.heldMS
	if beganMS == 0 {
		beganMS = endMS - t.sale.holdMS
	}
	// plant:hold-max
	if t.sale.holdMaxMS > 0 && later > beganMS+t.sale.holdMaxMS {
		return ErrSaleHoldLong(t.sale.holdMaxMS)
	}
	if later > endMS {
		t.extend(c, beganMS, later)
		c.Count(CountExtensions)
	}
	c.Out.Int(1)
	return nil
}

// extend makes the hold of an order end at a later time.
func (t *pendingOrder) extend(c *Ctx, beganMS, endMS int64) {
	key := saleKey(c, holdsPrefix, t.voucher)
	holds := c.DB.EditZSet(key)
	holds.Set(t.order, float64(endMS))
	c.Notify(keyevent.ZSet, "zadd", key)
	if t.sale.holdMaxMS > 0 && t.record.heldMS == 0 {
		t.write(c, &orderRecord{state: orderHeld, qty: t.record.qty, user: t.user, heldMS: beganMS})
	}
	c.Notify(keyevent.Generic, "seckill.extend", saleKey(c, stockPrefix, t.voucher))
}

// endHold takes back one order with an expired hold. A hold without a held order is only removed.
func endHold(c *Ctx, voucher, order []byte) error {
	t := pendingOrder{voucher: voucher, order: order}
	var err error
	if t.sale, err = findSale(c, voucher); err != nil {
		return err
	}
	if !t.sale.made { // renamed, perhaps, and its other keys will follow
		return ErrSaleBare(voucher)
	}
	if t.record, err = findOrder(c, voucher, order); err != nil {
		return err
	}
	// plant:expire-hold
	if t.record.state != orderHeld {
		dropHold(c, voucher, order)
		return nil
	}
	return t.takeBack(c, t.record.qty, "seckill.expire", "expired")
}
