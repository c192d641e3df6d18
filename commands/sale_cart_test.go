package commands

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExtension(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 5 HOLD 100 HOLDMAX 250", `+OK`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"50 SECKILL.EXTEND v ann o1 20", `1`}, // it has longer anyway
		[2]string{"ZSCORE seckill:holds:v o1", fmt.Sprintf("%q", fmt.Sprint(startMS+100))},
		[2]string{"SECKILL.EXTEND v ann o1 100", `1`},
		[2]string{"ZSCORE seckill:holds:v o1", fmt.Sprintf("%q", fmt.Sprint(startMS+150))},
		[2]string{"HGET seckill:orders:v o1", fmt.Sprintf(`"held@%d 1 ann"`, startMS)},
		[2]string{"SECKILL.EXTEND v ben o1 100", `-ERR seckill order 'o1' belongs to another user`},
		[2]string{"SECKILL.EXTEND v ann o9 100", `0`},
		[2]string{"99 SECKILL.EXTEND v ann o1 101", `1`},
		[2]string{"SECKILL.EXTEND v ann o1 102", `-ERR seckill hold would be longer than the HOLDMAX of 250 ms`},
		[2]string{"SECKILL v ann o1", `0`},
		[2]string{"100 SECKILL.INFO v", `["state" "open" "stock" 4 "total" 5 "sold" 1 "held" 1 "confirmed" 0 "buyers" 1 "start" 0 "end" 0 "limit" 1 "hold" 100 "hold-max" 250 "stream" "stream.orders" "stream-length" 1 "groups" []]`},
		[2]string{"1 SECKILL.EXTEND v ann o1 1", `0`},
		[2]string{"SECKILL v ann o1", `5`},
		[2]string{"GET seckill:stock:v", `"5"`},
		[2]string{"SECKILL.EXTEND v ann o1 0", `-ERR seckill extension must be a positive number of milliseconds`},
		[2]string{"SECKILL v ann o2", `0`},
		[2]string{"SECKILL.CONFIRM v ann o2", `1`},
		[2]string{"SECKILL.EXTEND v ann o2 10", `0`},
		[2]string{"SECKILL.CREATE w STOCK 5", `+OK`}, // no holds
		[2]string{"SECKILL w ann o1", `0`},
		[2]string{"SECKILL.EXTEND w ann o1 10", `0`},
		[2]string{"SECKILL.CREATE x STOCK 1 HOLDMAX 5", `-ERR seckill HOLDMAX needs HOLD, and is a number of milliseconds that is not less`},
		[2]string{"SECKILL.CREATE x STOCK 1 HOLD 6 HOLDMAX 5", `-ERR seckill HOLDMAX needs HOLD, and is a number of milliseconds that is not less`},
		[2]string{"SECKILL.CREATE y STOCK 1 HOLD 5", `+OK`}, // no bound: its orders keep the record that they had
		[2]string{"SECKILL y ann o1", `0`},
		[2]string{"SECKILL.EXTEND y ann o1 1000000", `1`},
		[2]string{"999999 HGET seckill:orders:y o1", `"held 1 ann"`},
		[2]string{"SET seckill:stock:z 1", `+OK`},
		[2]string{"SECKILL.EXTEND z ann o1 1", `-ERR seckill 'z' keeps no orders, it was not made with SECKILL.CREATE`},
	)
}

func TestPartialCancel(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 9 LIMIT 4 HOLD 100", `+OK`},
		[2]string{"SECKILL v ann o1 QTY 4", `0`},
		[2]string{"SECKILL.CANCEL v ann o1 QTY 5", `-ERR seckill order 'o1' has only 4 pieces`},
		[2]string{"SECKILL.CANCEL v ann o1 QTY 0", `-ERR seckill QTY must be a positive integer`},
		[2]string{"SECKILL.CANCEL v ann o1 QTY 3", `1`},
		[2]string{"HGET seckill:orders:v o1", `"held 1 ann"`},
		[2]string{"HGETALL seckill:pieces:v", `[]`},
		[2]string{"SECKILL.INFO v", `["state" "open" "stock" 8 "total" 9 "sold" 1 "held" 1 "confirmed" 0 "buyers" 1 "start" 0 "end" 0 "limit" 4 "hold" 100 "stream" "stream.orders" "stream-length" 1 "groups" []]`},
		[2]string{"XREVRANGE stream.orders:cancelled + - COUNT 1", `[["1700000000000-0" ["userId" "ann" "voucherId" "v" "id" "o1" "qty" "3" "reason" "cancelled" "left" "1"]]]`},
		[2]string{"SECKILL v ann o1 QTY 4", `0`}, // the order stands
		[2]string{"SECKILL v ann o2 QTY 3", `0`},
		[2]string{"SECKILL.CANCEL v ann o2 QTY 3", `1`}, // all of it
		[2]string{"XREVRANGE stream.orders:cancelled + - COUNT 1", `[["1700000000000-1" ["userId" "ann" "voucherId" "v" "id" "o2" "qty" "3" "reason" "cancelled"]]]`},
		[2]string{"SECKILL v ann o2", `5`},
		[2]string{"100 GET seckill:stock:v", `"9"`},
		[2]string{"XREVRANGE stream.orders:cancelled + - COUNT 1", `[["1700000000100-0" ["userId" "ann" "voucherId" "v" "id" "o1" "qty" "1" "reason" "expired"]]]`},
		[2]string{"SECKILL.CANCEL v ann o1 QTY 1", `0`},
	)
}

func TestCart(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 5 LIMIT 2 HOLD 100 STREAM s", `+OK`},
		[2]string{"SECKILL.CREATE w STOCK 1 HOLD 70 STREAM s", `+OK`},
		[2]string{"SECKILL.CREATE x STOCK 1 STREAM s", `+OK`},
		[2]string{"SECKILL.CART ann c1 2 v 2 w 2", `-ERR seckill QTY is above the limit of 1 per user`},
		[2]string{"SECKILL.CART ann c1 3 v 2 w 1 x 1", `0`},
		[2]string{"SECKILL.CART ann c1 3 v 2 w 1 x 1", `0`}, // a retry
		[2]string{"SECKILL v ann c1", `0`},
		[2]string{"SECKILL.CART ben c1 3 v 2 w 1 x 1", `-ERR seckill order 'c1' belongs to another user`},
		[2]string{"SECKILL.CART ben c2 2 v 2 w 1", `[2 1]`},
		[2]string{"SECKILL.CART ann c3 1 v 1", `[1 2]`},
		[2]string{"GET seckill:stock:v", `"3"`},
		[2]string{"XRANGE s - +", `[["1700000000000-0" ["userId" "ann" "voucherId" "v" "id" "c1" "qty" "2"]] ["1700000000000-1" ["userId" "ann" "voucherId" "w" "id" "c1" "qty" "1"]] ["1700000000000-2" ["userId" "ann" "voucherId" "x" "id" "c1" "qty" "1"]]]`},
		[2]string{"SECKILL.CREATE y STOCK 1", `+OK`},
		[2]string{"SECKILL.CART ann c1 2 v 2 y 1", `-ERR seckill order 'c1' is that of another cart`},
		[2]string{"SECKILL.CART ann c1 2 y 1 v 2", `-ERR seckill order 'c1' is that of another cart`},
		[2]string{"69 SECKILL.CART ann c1 3 v 2 w 1 x 1", `0`},
		[2]string{"1 SECKILL.CART ann c1 3 v 2 w 1 x 1", `[1 5]`}, // all of the cart ends with its shortest hold
		[2]string{"MGET seckill:stock:v seckill:stock:w seckill:stock:x", `["5" "1" "1"]`},
		[2]string{"SECKILL.CART ann c4 0 v 1", `-ERR seckill cart must have 1 to 64 vouchers, each with a quantity`},
		[2]string{"SECKILL.CART ann c4 2 v 1", `-ERR seckill cart must have 1 to 64 vouchers, each with a quantity`},
		[2]string{"SECKILL.CART ann c4 1 v 1 w 1", `-ERR seckill cart must have 1 to 64 vouchers, each with a quantity`},
		[2]string{"SECKILL.CART ann c4 2 v 1 v 1", `-ERR seckill cart names a voucher twice`},
		[2]string{"SECKILL.CART ann c4 1 v 0", `-ERR seckill QTY must be a positive integer`},
		[2]string{"SECKILL.CART ann c4 1 none 1", `-ERR no such seckill 'none'`},
		[2]string{"SET seckill:stock:bare 1", `+OK`},
		[2]string{"SECKILL.CART ann c4 2 v 1 bare 1", `-ERR seckill 'bare' keeps no orders, it was not made with SECKILL.CREATE`},
		// The stream of one sale is a key of another one, which is free so far.
		[2]string{"SECKILL.CREATE z STOCK 1 STREAM seckill:order:y", `+OK`},
		[2]string{"SECKILL.CART ann c5 2 z 1 y 1", `-WRONGTYPE Operation against a key holding the wrong kind of value`},
		[2]string{"EXISTS seckill:order:y", `0`},
		[2]string{"GET seckill:stock:z", `"1"`},
	)
}

// TestCartWithRates: a cart counts as a call in each of its sales up to the sale that refuses it.
func TestCartWithRates(t *testing.T) {
	f := newSaleFixture(t)
	f.play(
		[2]string{"SECKILL.CREATE v STOCK 9 LIMIT 9 RATE 1 1000 BURST 2", `+OK`},
		[2]string{"SECKILL.CREATE w STOCK 1 LIMIT 9 RATE 1 1000 BURST 2", `+OK`},
		[2]string{"SECKILL.CREATE x STOCK 9 LIMIT 9 RATE 1 1000 BURST 2", `+OK`},
		[2]string{"SECKILL.CART ann c1 3 v 1 w 2 x 1", `[2 1]`}, // a call of v and of w; x was not asked
		[2]string{"SECKILL.CART ann c2 2 v 1 x 1", `0`},
		[2]string{"SECKILL.CART ann c2 2 v 1 x 1", `0`}, // a retry does not count
		[2]string{"SECKILL.CART ann c3 2 x 1 v 1", `[2 6]`},
		[2]string{"SECKILL x ann o1", `6`},
		[2]string{"SECKILL w ann o1", `0`},
		[2]string{"SECKILL w ann o2", `1`},
	)
}

// cartModel is a shop of sales as a person would keep its books.
type cartModel struct {
	nowMS int64
	sales map[string]*saleModel
}

type saleModel struct {
	stock, limit        int
	holdMS, holdMaxMS   int64
	orders              map[string]*orderModel
	cancelled, expected int // entries of the two streams
}

type orderModel struct {
	user           string
	qty            int
	state          string
	beganMS, endMS int64
}

// sell returns the answer for a new order; nothing changes.
func (s *saleModel) sell(user string, qty int) string {
	pieces := 0
	for _, o := range s.orders {
		if o.user == user && o.state != "gone" {
			pieces += o.qty
		}
	}
	switch {
	case s.stock <= 0:
		return "1"
	case qty > s.limit:
		return fmt.Sprintf("-ERR seckill QTY is above the limit of %d per user", s.limit)
	case s.stock < qty:
		return "1"
	case pieces+qty > s.limit:
		return "2"
	}
	return "0"
}

// part is a voucher of a cart.
type part struct {
	voucher string
	qty     int
}

// cart sells a cart. A plain SECKILL is a cart of one, and its refusal has no place.
func (m *cartModel) cart(user, order string, parts []part, plain bool) string {
	gone, stands := 0, 0
	for i, p := range parts {
		o := m.sales[p.voucher].orders[order]
		switch {
		case o == nil:
		case o.user != user:
			return fmt.Sprintf("-ERR seckill order '%s' belongs to another user", order)
		case o.state == "gone":
			if gone == 0 {
				gone = i + 1
			}
		default:
			stands++
		}
	}
	refused := func(place int, answer string) string {
		if plain {
			return answer
		}
		return fmt.Sprintf("[%d %s]", place, answer)
	}
	switch {
	case gone > 0:
		return refused(gone, "5")
	case stands == len(parts):
		return "0"
	case stands > 0:
		return fmt.Sprintf("-ERR seckill order '%s' is that of another cart", order)
	}
	holdMS := int64(0)
	for i, p := range parts {
		s := m.sales[p.voucher]
		switch answer := s.sell(user, p.qty); {
		case answer[0] == '-':
			return answer
		case answer != "0":
			return refused(i+1, answer)
		}
		if s.holdMS > 0 && (holdMS == 0 || s.holdMS < holdMS) {
			holdMS = s.holdMS
		}
	}
	for _, p := range parts {
		s := m.sales[p.voucher]
		s.stock -= p.qty
		s.expected++
		o := &orderModel{user: user, qty: p.qty, state: "sold", beganMS: m.nowMS}
		if holdMS > 0 {
			o.state, o.endMS = "held", m.nowMS+holdMS
		}
		s.orders[order] = o
	}
	return "0"
}

// change is SECKILL.CONFIRM, SECKILL.CANCEL with a quantity (0: all), or SECKILL.EXTEND.
func (m *cartModel) change(what, voucher, user, order string, n int64) string {
	s := m.sales[voucher]
	o := s.orders[order]
	switch {
	case o == nil:
		return "0"
	case o.user != user:
		return fmt.Sprintf("-ERR seckill order '%s' belongs to another user", order)
	case o.state != "held" && o.state != "sold":
		return "0"
	}
	switch what {
	case "CONFIRM":
		o.state = "paid"
	case "CANCEL":
		qty := int(n)
		if qty == 0 {
			qty = o.qty
		}
		if qty > o.qty {
			return fmt.Sprintf("-ERR seckill order '%s' has only %d pieces", order, o.qty)
		}
		s.stock += qty
		s.cancelled++
		if o.qty -= qty; o.qty == 0 {
			o.state = "gone"
		}
	case "EXTEND":
		switch {
		case o.state != "held":
			return "0"
		case s.holdMaxMS > 0 && m.nowMS+n > o.beganMS+s.holdMaxMS:
			return fmt.Sprintf("-ERR seckill hold would be longer than the HOLDMAX of %d ms", s.holdMaxMS)
		}
		o.endMS = max(o.endMS, m.nowMS+n)
	}
	return "1"
}

// pass lets holds end.
func (m *cartModel) pass(ms int64) {
	m.nowMS += ms
	for _, s := range m.sales {
		for _, o := range s.orders {
			if o.state == "held" && o.endMS <= m.nowMS {
				s.stock += o.qty
				s.cancelled++
				o.qty, o.state = 0, "gone"
			}
		}
	}
}

// TestCartsAgainstAModel: random sales, carts, extensions and cancels of parts answer as the model does, and
// leave its stocks, sums and streams.
func TestCartsAgainstAModel(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 59))
		f := newSaleFixture(t)
		m := &cartModel{nowMS: startMS, sales: map[string]*saleModel{}}
		names := []string{"v", "w", "x"}
		for _, name := range names {
			s := &saleModel{stock: 2 + r.IntN(8), limit: 1 + r.IntN(4), orders: map[string]*orderModel{}}
			line := fmt.Sprintf("SECKILL.CREATE %s STOCK %d LIMIT %d STREAM s%d", name, s.stock, s.limit, r.IntN(2))
			if r.IntN(3) > 0 {
				s.holdMS = 20 + r.Int64N(50)
				line += fmt.Sprintf(" HOLD %d", s.holdMS)
				if r.IntN(2) > 0 {
					s.holdMaxMS = s.holdMS + r.Int64N(100)
					line += fmt.Sprintf(" HOLDMAX %d", s.holdMaxMS)
				}
			}
			m.sales[name] = s
			f.each(line)
		}
		for range 200 {
			user, order := fmt.Sprint("u", r.IntN(4)), fmt.Sprint("o", r.IntN(25))
			voucher := names[r.IntN(3)]
			var line, want string
			switch r.IntN(8) {
			case 0, 1:
				qty := 1 + r.IntN(3)
				line = fmt.Sprintf("SECKILL %s %s %s QTY %d", voucher, user, order, qty)
				want = m.cart(user, order, []part{{voucher, qty}}, true)
			case 2, 3:
				var parts []part
				for _, at := range r.Perm(3)[:1+r.IntN(3)] {
					parts = append(parts, part{names[at], 1 + r.IntN(3)})
				}
				line = fmt.Sprintf("SECKILL.CART %s %s %d", user, order, len(parts))
				for _, p := range parts {
					line += fmt.Sprintf(" %s %d", p.voucher, p.qty)
				}
				want = m.cart(user, order, parts, false)
			case 4:
				line, want = fmt.Sprintf("SECKILL.CONFIRM %s %s %s", voucher, user, order), m.change("CONFIRM", voucher, user, order, 0)
			case 5:
				n := r.Int64N(4)
				line, want = fmt.Sprintf("SECKILL.CANCEL %s %s %s", voucher, user, order), m.change("CANCEL", voucher, user, order, n)
				if n > 0 {
					line += fmt.Sprintf(" QTY %d", n)
				}
			case 6:
				n := 1 + r.Int64N(120)
				line, want = fmt.Sprintf("SECKILL.EXTEND %s %s %s %d", voucher, user, order, n), m.change("EXTEND", voucher, user, order, n)
			default:
				ms := r.Int64N(30)
				m.pass(ms)
				f.pass(ms)
				continue
			}
			require.Equal(t, want, f.do(splitWords(t, line)...).String(), "seed %d: %s", seed, line)
		}
		m.check(t, f, seed)
	}
}

// check compares the keys with the model's books.
func (m *cartModel) check(t *testing.T, f *fixture, seed uint64) {
	t.Helper()
	entries, cancelled, expected := int64(0), int64(0), int64(0)
	for _, stream := range []string{"s0", "s1"} {
		entries += f.do("XLEN", stream).Int
		cancelled += f.do("XLEN", stream+":cancelled").Int
	}
	gone := int64(0)
	for name, s := range m.sales {
		sold, held, paid := 0, 0, 0
		for _, o := range s.orders {
			switch o.state {
			case "held":
				held += o.qty
			case "paid":
				paid += o.qty
			}
			if o.state != "gone" {
				sold += o.qty
			}
		}
		require.Equal(t, fmt.Sprintf("%q", fmt.Sprint(s.stock)), f.do("GET", "seckill:stock:"+name).String(), "seed %d", seed)
		require.Equal(t, fmt.Sprintf(`["%d" "%d" "%d"]`, sold, held, paid), f.do("HMGET", "seckill:sale:"+name, "sold", "held", "confirmed").String(), "seed %d", seed)
		expected += int64(s.expected)
		gone += int64(s.cancelled)
	}
	require.Equal(t, expected, entries, "seed %d", seed)
	require.Equal(t, gone, cancelled, "seed %d", seed)
}

// TestCartLooksOnce: a cart counts as many look-ups as its orders would one by one.
func TestCartLooksOnce(t *testing.T) {
	f := newSaleFixture(t)
	for _, voucher := range []string{"a", "b", "c", "d"} {
		f.want("+OK", "SECKILL.CREATE", voucher, "STOCK", "5", "LIMIT", "3")
	}
	hits := func(calls ...[]string) int64 {
		before := f.store.Stats().Hits
		for _, call := range calls {
			f.want("0", call...)
		}
		return f.store.Stats().Hits - before
	}
	single := hits([]string{"SECKILL", "a", "ann", "o1"}, []string{"SECKILL", "b", "ann", "o1"})
	require.Positive(t, single)
	require.Equal(t, single, hits([]string{"SECKILL.CART", "ann", "o2", "2", "c", "1", "d", "1"}))
	require.Equal(t, single, hits([]string{"SECKILL.CART", "ann", "o2", "2", "c", "1", "d", "1"})) // a retry
}
