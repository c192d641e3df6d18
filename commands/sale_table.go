package commands

// SaleRows are the native commands for flash sales. None of them names its keys:
// those follow from the voucher (Implied).
func SaleRows() []Row {
	const changes = Write | Fast | TouchesArbitraryKeys
	voucher, user, order := Routed("voucher"), Str("user"), Str("order")
	return []Row{
		{Name: "seckill", Group: Sale, Since: "0.1.0", Flags: changes | DenyOOM, Run: seckill, Implied: saleWrites,
			Summary:    "Sells to a user: 0 sold, 1 not enough stock, 2 over the limit, 3 not started, 4 over, 5 taken back, 6 too fast.",
			Complexity: "O(1), and O(log N) with N orders on hold if the sale has a hold",
			Args:       []Arg{voucher, user, order, Opt(Int("pieces").After("QTY"))}},
		{Name: "seckill.create", Group: Sale, Since: "0.1.0", Flags: changes | DenyOOM, Run: seckillCreate, Implied: saleCreates,
			Summary:    "Opens a sale: its stock, its window, its limit and rate for each user, how long an order is held, and its stream.",
			Complexity: "O(1)",
			Args: []Arg{voucher, Int("pieces").After("STOCK"), Opt(UnixTime("start").After("START")),
				Opt(UnixTime("end").After("END")), Opt(Int("limit").After("LIMIT")),
				Opt(Int("milliseconds").After("HOLD")), Opt(Str("key").After("STREAM")),
				Opt(Block("rate", Int("count"), Int("period").Shown("period-ms")).After("RATE")), Opt(Int("burst").After("BURST")),
				Opt(Flag("RATE-ALL")), Opt(Flag("REPLACE"))}},
		{Name: "seckill.confirm", Group: Sale, Since: "0.1.0", Flags: changes, Run: seckillConfirm, Implied: saleWrites,
			Summary:    "Makes an order final, for instance because it was paid.",
			Complexity: "O(1), and O(log N) with N orders on hold if the sale has a hold",
			Args:       []Arg{voucher, user, order}},
		{Name: "seckill.cancel", Group: Sale, Since: "0.1.0", Flags: changes, Run: seckillCancel, Implied: saleWrites,
			Summary:    "Takes an order back that is not confirmed: the stock gets its pieces, and the user may buy again.",
			Complexity: "O(1), and O(log N) with N orders on hold if the sale has a hold",
			Args:       []Arg{voucher, user, order}},
		{Name: "seckill.restock", Group: Sale, Since: "0.1.0", Flags: changes | DenyOOM, Run: seckillRestock, Implied: saleWrites,
			Summary:    "Adds pieces to the stock of a sale, or takes some, and returns the stock.",
			Complexity: "O(1)",
			Args:       []Arg{voucher, Int("pieces")}},
		{Name: "seckill.info", Group: Sale, Since: "0.1.0", Flags: ReadOnly | Fast, Run: seckillInfo, Implied: saleReads,
			Summary:    "Tells the state of a sale, its numbers, and how far its stream of orders has been read.",
			Complexity: "O(N) where N is the number of consumer groups",
			Args:       []Arg{voucher}},
		{Name: "seckill.list", Group: Sale, Since: "0.1.0", Flags: ReadOnly, Run: seckillList,
			Tips:       []string{"nondeterministic_output", "request_policy:special"},
			Summary:    "Lists the vouchers of sales, a piece at a time, without walking the keyspace.",
			Complexity: "O(N) where N is the number of sales it looks at",
			Args:       []Arg{Int("cursor"), Opt(Pattern("pattern").After("MATCH")), Opt(Int("count").After("COUNT"))}},
		{Name: "nextid", Group: Sale, Since: "0.1.0", Flags: changes | DenyOOM, Run: nextID, Implied: idKeys,
			Summary:    "Returns 64-bit ids that are unique for a name and rise.",
			Complexity: "O(N) where N is the number of ids",
			Args:       []Arg{Routed("name"), Opt(Int("count").After("COUNT"))}},
	}
}
