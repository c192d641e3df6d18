package commands

import (
	"lockserver/internal/keyevent"
	"lockserver/internal/resp"
)

// A sale on bare keys is what the classic script keeps: the stock is a string, the buyers are a set, and each order
// is an entry of one stream.
const (
	stockPrefix = "seckill:stock:"
	buyerPrefix = "seckill:order:"
	orderStream = "stream.orders"
)

// SECKILL's replies.
const (
	saleSold      = 0
	saleNoStock   = 1
	saleHasBought = 2
)

// SaleRows are the native commands for flash sales.
func SaleRows() []Row {
	return []Row{
		{Name: "seckill", Group: Sale, Since: "0.1.0", Flags: Write | DenyOOM | Fast | TouchesArbitraryKeys, Run: seckill,
			Summary:    "Sells one piece to a user: 0 sold, 1 not enough stock, 2 the user has bought already.",
			Complexity: "O(1)",
			Args:       []Arg{Str("voucher"), Str("user"), Str("order")}},
	}
}

// seckill checks everything before it changes anything: stock deducted, user remembered, order appended, or nothing.
func seckill(c *Ctx) error {
	a := c.Args()
	voucher, user, order := a.Bytes(), a.Bytes(), a.Bytes()
	if err := a.Err(); err != nil {
		return err
	}
	var stockBuf, buyerBuf [64]byte
	stockKey := append(append(stockBuf[:0], stockPrefix...), voucher...)
	buyersKey := append(append(buyerBuf[:0], buyerPrefix...), voucher...)

	text, exists, err := c.findString(stockKey)
	if err != nil {
		return err
	}
	if !exists {
		return ErrNoSale(voucher)
	}
	stock, ok := resp.ParseInt(text)
	if !ok {
		return ErrStock
	}
	if stock <= 0 {
		c.Out.Int(saleNoStock)
		return nil
	}
	buyers, err := c.findSet(buyersKey)
	if err != nil {
		return err
	}
	if buyers != nil && buyers.Has(user) {
		c.Out.Int(saleHasBought)
		return nil
	}
	orderKey := []byte(orderStream)
	placed, err := c.findStream(orderKey)
	if err != nil {
		return err
	}
	id, err := nextStreamID(c, placed)
	if err != nil {
		return err
	}
	c.DB.SetInt(stockKey, stock-1)
	set := c.DB.EditSet(buyersKey)
	set.Add(user)
	fields := [...][]byte{userField, user, voucherField, voucher, idField, order}
	orders := c.DB.EditStream(orderKey)
	orders.Add(id, fields[:])
	c.Notify(keyevent.Generic, "seckill", stockKey)
	c.Notify(keyevent.String, "incrby", stockKey)
	c.Notify(keyevent.Set, "sadd", buyersKey)
	c.Notify(keyevent.Stream, "xadd", orderKey)
	c.Out.Int(saleSold)
	return nil
}

// The fields of an order.
var (
	userField    = []byte("userId")
	voucherField = []byte("voucherId")
	idField      = []byte("id")
)
