package commands

import (
	"bytes"

	"lockserver/store"
	"lockserver/store/stream"
)

// SECKILL.CART is SECKILL of several sales in one step, under one order id: all of them sell, or none does.
// All parts of the order have one hold, the shortest that one of the sales has.

// mostCart is how many vouchers one cart may name.
const mostCart = 64

// cart is one call of SECKILL.CART.
type cart struct {
	user, order []byte
	parts       []purchase
	entries     []saleEntry // of the parts, once they may be sold
}

// saleEntry is the place of an order in a stream.
type saleEntry struct {
	key []byte
	id  stream.ID
}

// seckillCart sells all parts of a cart, or replies which part is refused and why.
func seckillCart(c *Ctx) error {
	var k cart
	if err := k.read(c.Args()); err != nil {
		return err
	}
	known, place, answer, err := k.recall(c)
	if err != nil {
		return err
	}
	if !known {
		if place, answer, err = k.decide(c); err != nil {
			return err
		}
		// plant:cart-all
		if answer == saleSold {
			if err := k.prepare(c); err != nil {
				return err
			}
			for i := range k.parts {
				k.parts[i].sellAs(c, k.entries[i].key, k.entries[i].id)
			}
			c.Count(CountCarts)
		}
		for i := range k.parts {
			k.parts[i].keepAsk(c)
		}
	}
	if answer == saleSold {
		c.Out.Int(saleSold)
		return nil
	}
	c.Count(CountCartRefusals)
	c.Out.Ints(int64(place), answer)
	return nil
}

func (k *cart) read(a *Scanner) error {
	k.user, k.order = readSaleID(a, ErrSaleUser), readSaleID(a, ErrSaleOrderID)
	n := a.IntOr(ErrSaleCartSize)
	if a.Err() == nil && (n < 1 || n > mostCart || a.Left() != 2*int(n)) {
		a.Fail(ErrSaleCartSize)
	}
	if a.Err() != nil {
		return a.Err()
	}
	k.parts = make([]purchase, n)
	for i := range k.parts {
		p := &k.parts[i]
		p.voucher, p.user, p.order = readSaleID(a, ErrSaleVoucher), k.user, k.order
		if p.qty = a.IntOr(ErrSaleQuantity); p.qty < 1 {
			a.Fail(ErrSaleQuantity)
		}
		for j := range i {
			if bytes.Equal(k.parts[j].voucher, p.voucher) {
				a.Fail(ErrSaleCartTwice)
			}
		}
	}
	return a.Err()
}

// recall finds the answer of a cart that was sold before. known: it was, and its answer is the answer now. A
// part that was taken back is refused.
func (k *cart) recall(c *Ctx) (known bool, place int, answer int64, err error) {
	stands := 0
	for i := range k.parts {
		p := &k.parts[i]
		if err := p.look(c); err != nil {
			return false, 0, 0, err
		}
		switch {
		case p.was == orderGone && place == 0:
			place = i + 1
		case p.was != "" && p.was != orderGone:
			stands++
		}
	}
	switch {
	case place > 0: // plant:cart-gone
		return true, place, saleTakenBack, nil
	case stands > 0 && stands < len(k.parts):
		return false, 0, 0, ErrSaleCart(k.order)
	}
	return stands > 0, 0, saleSold, nil
}

// decide finds the first part that is refused, and why, behind recall. Nothing changes.
func (k *cart) decide(c *Ctx) (place int, answer int64, err error) {
	for i := range k.parts {
		p := &k.parts[i]
		if answer, err = p.judge(c); err != nil || answer != saleSold {
			return i + 1, answer, err
		}
		if !p.sale.made { // a retry would look like another cart
			return i + 1, 0, ErrSaleBare(p.voucher)
		}
		p.sale.stream = Clone(p.sale.stream) // the first change takes it away
	}
	return 0, saleSold, nil
}

// prepare gives all parts one hold, and their entries in the streams. The error says why a part cannot be
// written.
func (k *cart) prepare(c *Ctx) error {
	holdMS := int64(0)
	for i := range k.parts {
		if own := k.parts[i].sale.holdMS; own > 0 && (holdMS == 0 || own < holdMS) {
			holdMS = own
		}
	}
	for i := range k.parts {
		p := &k.parts[i]
		if p.sale.holdMaxMS > 0 && p.sale.holdMS != holdMS {
			p.heldMS = c.CeilNowMS()
		}
		p.sale.holdMS = holdMS // plant:cart-hold
		if err := p.mayWrite(c); err != nil {
			return err
		}
		if err := k.place(c, p); err != nil {
			return err
		}
	}
	return nil
}

// place finds the entry of a part, behind the entries of the parts before it.
func (k *cart) place(c *Ctx, p *purchase) error {
	e := saleEntry{key: p.sale.streamKey(nil)}
	for i := range k.parts {
		if _, err := saleStream(c, e.key, k.parts[i].voucher); err != nil {
			return err
		}
	}
	id, err := nextEntryID(c, e.key, p.voucher, p.user, p.order)
	if err != nil {
		return err
	}
	for i := range k.entries {
		if !bytes.Equal(k.entries[i].key, e.key) {
			continue
		}
		if k.entries[i].id.IsMax() {
			return ErrStreamExhausted
		}
		id = k.entries[i].id.Next()
	}
	e.id = id
	k.entries = append(k.entries, e)
	return nil
}

// cartWrites are the keys of SECKILL.CART: those of each of its sales.
func cartWrites(db *store.DB, args [][]byte, visit func([]byte, KeyFlags) bool) {
	for i := 4; i+1 < len(args); i += 2 {
		ok := true
		saleWrites(db, [][]byte{nil, args[i]}, func(key []byte, use KeyFlags) bool {
			ok = visit(key, use)
			return ok
		})
		if !ok {
			return
		}
	}
}
