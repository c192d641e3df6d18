package commands

import (
	"bytes"
	"strconv"

	"lockserver/internal/decimal"
	"lockserver/store"
)

// orderState is the state of an order, as the first word of its record. Format, do not change.
type orderState string

const (
	orderHeld orderState = "held" // sold, and to be confirmed before its hold ends
	orderSold orderState = "sold" // sold, on a sale without holds
	orderPaid orderState = "paid" // confirmed: it stays sold
	orderGone orderState = "gone" // taken back; its record stays, so that a late retry sells nothing and gets that answer
)

// orderRecord is an order as stored in the hash of orders: "held 2 alice", or "held@1700000000000 2 alice" if
// its hold was extended and the sale has a HOLDMAX. User is valid until the next change of the store.
type orderRecord struct {
	state  orderState // empty: there is no such order
	qty    int64
	user   []byte
	heldMS int64 // when a hold that was extended began, in milliseconds since 1970; 0: not recorded
}

// heldSince begins the state of an order with an extended hold.
const heldSince = string(orderHeld) + "@"

// appendTo appends the record's text.
func (o *orderRecord) appendTo(dst []byte) []byte {
	dst = append(dst, o.state...)
	if o.state == orderHeld && o.heldMS != 0 {
		dst = strconv.AppendInt(append(dst, '@'), o.heldMS, 10)
	}
	dst = append(dst, ' ')
	dst = append(strconv.AppendInt(dst, o.qty, 10), ' ')
	return append(dst, o.user...)
}

// parseOrder reads a record's text.
func parseOrder(text []byte) (o orderRecord, ok bool) {
	state, rest, _ := bytes.Cut(text, []byte{' '})
	qty, user, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return o, false
	}
	for _, known := range [...]orderState{orderHeld, orderSold, orderPaid, orderGone} {
		if string(state) == string(known) {
			o.state = known
		}
	}
	if began, extended := bytes.CutPrefix(state, []byte(heldSince)); extended {
		if o.heldMS, ok = decimal.ParseInt(began); ok && o.heldMS > 0 {
			o.state = orderHeld
		}
	}
	o.qty, ok = decimal.ParseInt(qty)
	o.user = user
	return o, ok && o.qty > 0 && o.state != ""
}

// readOrder reads the words that name an order.
func readOrder(a *Scanner) (voucher, user, order []byte) {
	return readSaleID(a, ErrSaleVoucher), readSaleID(a, ErrSaleUser), readSaleID(a, ErrSaleOrderID)
}

// readSaleID reads an id of a voucher, a user or an order; empty is the error for an empty id. Programs
// send it for a variable that was not set, and all of them would share it.
func readSaleID(a *Scanner, empty Error) []byte {
	id := a.Bytes()
	if len(id) == 0 && a.Err() == nil {
		a.Fail(empty)
	}
	return id
}

// findOrder reads the record of an order.
func findOrder(c *Ctx, voucher, order []byte) (o orderRecord, err error) {
	r := c.DB.Peek(saleKey(c, ordersPrefix, voucher))
	if !r.Is(store.Hash) {
		return o, ErrWrongType
	}
	if !r.OK() {
		return o, nil
	}
	text, ok := r.Hash().Get(nil, order)
	if !ok {
		return o, nil
	}
	if o, ok = parseOrder(text); !ok {
		return orderRecord{}, ErrSaleRecord(order)
	}
	return o, nil
}

// owned is findOrder with a check that the order, if there is one, belongs to the user. An order with an
// expired hold is gone, even if the server has not processed it yet: the clock decides.
func owned(c *Ctx, voucher, user, order []byte) (orderRecord, error) {
	o, err := findOrder(c, voucher, order)
	// plant:order-user
	if err == nil && o.state != "" && !bytes.Equal(o.user, user) {
		return orderRecord{}, ErrSaleOrder(order)
	}
	if err != nil || o.state != orderHeld {
		return o, err
	}
	endMS, has, err := holdOf(c, voucher, order)
	if err != nil {
		return orderRecord{}, err
	}
	if has && c.NowMS() >= endMS {
		o.state = orderGone
	}
	return o, nil
}
