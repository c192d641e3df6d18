package sales

import "lockserver/tests/plant"

// faults are all planted faults. Each breaks one promise of a sale.
var faults = []plant.Fault{
	plant.New("a retry is a new order", plant.Insert("sale-again", `p.was = ""`)),
	plant.New("an order that was taken back is said to be sold", plant.And("sale-taken-back", "false")),
	plant.New("an order is cancelled twice", plant.Or("order-open", "t.record.state == orderGone")),
	plant.New("who cancels stays a buyer", plant.And("sale-buyer", "false")),
	plant.New("one piece too many is sold", plant.And("sale-stock", "p.stock < p.qty-1")),
	plant.New("an order is missing in the stream", plant.Instead("sale-stream", `if p.sale.sold%5 != 3 {
		orders.Add(id, given)
	}`)),
	plant.New("an order of somebody else is taken for a retry", plant.And("order-user", "false")),
	plant.New("the limit is forgotten", plant.And("sale-limit", "p.sale.sold%4 != 3")),
	plant.New("a hold is a millisecond too long", plant.Instead("sale-hold",
		`holds.Set(p.order, float64(c.CeilNowMS()+min(p.sale.holdMS, maxHoldMS)+1))`)),
	plant.New("a confirmed order is taken back all the same",
		plant.And("expire-hold", "false"), plant.Instead("finish-hold", `if state != orderPaid {
		dropHold(c, t.voucher, t.order)
	}`)),
	plant.New("what is taken is not counted", plant.Instead("sale-total", `if n < 0 {
		h.SetInt(totalField, s.total+now)
	} else {
		h.SetInt(totalField, s.total+now-stock)
	}`)),
	plant.New("a part that comes back is not taken off what is sold", plant.Instead("sale-part", `t.sale.sold += gone
	if was == orderHeld {
		sums.SetInt(heldField, t.sale.held-gone)
	}`)),
	plant.New("a hold is extended beyond its longest time", plant.And("hold-max", "false")),
	plant.New("a refused cart is sold", plant.Or("cart-all", "place == 2 && k.parts[1].stock > 0")),
	plant.New("a part of a cart has a hold of its own", plant.Omit("cart-hold")),
	plant.New("a cart that was taken back in part is said to be sold", plant.And("cart-gone", "stands > 0 && false")),
	plant.New("a restart forgets the holds", plant.Omit("load-holds")),
}
