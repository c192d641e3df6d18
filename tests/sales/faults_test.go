package sales

import "lockserver/internal/plant"

// faults are all that are tried. Each breaks one promise of a sale.
var faults = []plant.Fault{
	plant.New("a retry is a new order", plant.Instead("commands/sale.go", "if p.again = o.state != \"\"; p.again || err != nil {",
		`if p.again = o.state != "" && !planted("a retry is a new order"); p.again || err != nil {`)),
	plant.New("an order that was taken back is said to be sold", plant.Instead("commands/sale.go", "if o.state == orderGone {",
		`if o.state == orderGone && !planted("an order that was taken back is said to be sold") {`)),
	plant.New("an order is cancelled twice", plant.Instead("commands/sale_settle.go", "return t.record.state == orderSold ||",
		`return t.record.state == orderGone && planted("an order is cancelled twice") || t.record.state == orderSold ||`)),
	plant.New("who cancels stays a buyer", plant.Instead("commands/sale.go", "} else if buyers.Remove(user) {",
		`} else if !planted("who cancels stays a buyer") && buyers.Remove(user) {`)),
	plant.New("one piece too many is sold", plant.Instead("commands/sale.go", "\tcase p.stock < p.qty:\n",
		"\tcase p.stock < p.qty && (!planted(\"one piece too many is sold\") || p.stock < p.qty-1):\n")),
	plant.New("an order is missing in the stream", plant.Instead("commands/sale.go", "\torders.Add(id, given)\n", `
	if p.sale.sold%5 != 3 || !planted("an order is missing in the stream") {
		orders.Add(id, given)
	}
`)),
	plant.New("an order of somebody else is taken for a retry", plant.Instead("commands/sale_order.go",
		"if err == nil && o.state != \"\" && !bytes.Equal(o.user, user) {",
		`if err == nil && o.state != "" && !bytes.Equal(o.user, user) && !planted("an order of somebody else is taken for a retry") {`)),
	plant.New("the limit is forgotten", plant.Instead("commands/sale.go", "if p.have > p.sale.limit-p.qty {",
		`if p.have > p.sale.limit-p.qty && !(p.sale.sold%4 == 3 && planted("the limit is forgotten")) {`)),
	plant.New("a hold is a millisecond too long", plant.Instead("commands/sale.go", "float64(c.NowMS()+min(p.sale.holdMS, maxHoldMS))",
		"float64(c.NowMS()+min(p.sale.holdMS, maxHoldMS)+func() int64 {\nif planted(\"a hold is a millisecond too long\") {\nreturn 1\n}\nreturn 0\n}())")),
	plant.New("a confirmed order is taken back all the same", plant.Instead("commands/sale_hold.go",
		"\tif t.record.state != orderHeld {\n", "\tif t.record.state != orderHeld && !planted(\"a confirmed order is taken back all the same\") {\n"),
		plant.Instead("commands/sale_settle.go", "\tdropHold(c, t.voucher, t.order)\n\twas, qty",
			"\tif state != orderPaid || !planted(\"a confirmed order is taken back all the same\") {\n\t\tdropHold(c, t.voucher, t.order)\n\t}\n\twas, qty")),
	plant.New("what is taken is not counted", plant.Instead("commands/sale_create.go", "h.SetInt(totalField, s.total+now-stock)",
		`h.SetInt(totalField, s.total+now-stock*map[bool]int64{false: 1}[n < 0 && planted("what is taken is not counted")])`)),
	plant.New("a restart forgets the holds", plant.Instead("store/load.go", "\tdb.space.watchHolds(key, &v)\n",
		"\tif !planted(\"a restart forgets the holds\") {\n\t\tdb.space.watchHolds(key, &v)\n\t}\n")),
}
