package sales

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// books holds all keys of a sale, read while no client is active.
type books struct {
	voucher                             string
	stock, total, sold, held, confirmed int
	returned                            int
	orders                              map[string]order
	buyers                              []string
	pieces                              map[string]string
	holds                               map[string]int64
	placed, taken                       []map[string]string // the entries of the two streams
}

// pairs converts a reply with alternating names and values.
func pairs(v resp.Value) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		m[text(v.Elems[i])] = text(v.Elems[i+1])
	}
	return m
}

// text returns a word or a number of a reply as text.
func text(v resp.Value) string {
	if v.Kind == resp.Integer {
		return strconv.FormatInt(v.Int, 10)
	}
	return v.Str
}

// readBooks reads the keys of a sale.
func readBooks(voucher, stream string, do func(args ...string) (resp.Value, error)) (b books, err error) {
	b.voucher = voucher
	ask := func(args ...string) (v resp.Value) {
		if err == nil {
			v, err = do(args...)
		}
		if err == nil && v.IsError() {
			err = fmt.Errorf("%q: %s", args, v)
		}
		return v
	}
	number := func(s string) (n int) {
		if err == nil {
			n, err = strconv.Atoi(s)
		}
		return n
	}
	b.stock = number(ask("GET", "seckill:stock:"+voucher).Str)
	sums := pairs(ask("HGETALL", "seckill:sale:"+voucher))
	b.total, b.sold, b.held, b.confirmed = number(sums["total"]), number(sums["sold"]), number(sums["held"]), number(sums["confirmed"])
	b.returned = number(cmp.Or(sums["returned"], "0"))
	for _, v := range ask("SMEMBERS", "seckill:order:"+voucher).Elems {
		b.buyers = append(b.buyers, v.Str)
	}
	slices.Sort(b.buyers)
	b.pieces = pairs(ask("HGETALL", "seckill:pieces:"+voucher))
	b.holds = map[string]int64{}
	for id, score := range pairs(ask("ZRANGE", "seckill:holds:"+voucher, "0", "-1", "WITHSCORES")) {
		b.holds[id] = int64(number(score))
	}
	b.orders = map[string]order{}
	for id, record := range pairs(ask("HGETALL", "seckill:orders:"+voucher)) {
		words := strings.SplitN(record, " ", 3)
		state, began, extended := strings.Cut(words[0], "@")
		o := order{id: id, state: state, qty: number(words[1]), user: words[2], endMS: b.holds[id]}
		if extended {
			o.beganMS = int64(number(began))
		}
		b.orders[id] = o
	}
	for _, e := range ask("XRANGE", stream, "-", "+").Elems {
		b.placed = append(b.placed, pairs(e.Elems[1]))
	}
	for _, e := range ask("XRANGE", stream+":cancelled", "-", "+").Elems {
		b.taken = append(b.taken, pairs(e.Elems[1]))
	}
	return b, err
}

// check returns an error for keys that do not agree.
func (b *books) check() error {
	sums := map[string]int{}
	pieces := map[string]int{}
	for id, o := range b.orders {
		sums[o.state] += o.qty
		if o.state != "gone" {
			pieces[o.user] += o.qty
		}
		if _, held := b.holds[id]; held != (o.state == "held") {
			return fmt.Errorf("order %q is %q, and a hold: %v", id, o.state, held)
		}
	}
	parts, returned := map[string]int{}, 0 // pieces that came back of orders that had others left
	for _, e := range b.taken {
		if e["left"] != "" {
			qty, err := strconv.Atoi(e["qty"])
			if err != nil {
				return err
			}
			parts[e["id"]] += qty
			returned += qty
		}
	}
	many := map[string]string{}
	for user, n := range pieces {
		if n > 1 {
			many[user] = strconv.Itoa(n)
		}
	}
	switch {
	case b.stock < 0:
		return fmt.Errorf("the stock is %d", b.stock)
	case b.stock+sums["held"]+sums["sold"]+sums["paid"] != b.total:
		return fmt.Errorf("a stock of %d and orders of %v are not the %d that were created and restocked", b.stock, sums, b.total)
	case b.sold != sums["held"]+sums["sold"]+sums["paid"] || b.held != sums["held"] || b.confirmed != sums["paid"]:
		return fmt.Errorf("the sums %d, %d, %d are not those of the orders: %v", b.sold, b.held, b.confirmed, sums)
	case b.returned != sums["gone"]+returned:
		return fmt.Errorf("%d pieces were taken back, and not those of the orders: %v", b.returned, sums)
	case !slices.Equal(b.buyers, slices.Sorted(maps.Keys(pieces))):
		return fmt.Errorf("the buyers %q are not the users of the orders: %v", b.buyers, pieces)
	case !maps.Equal(many, b.pieces):
		return fmt.Errorf("the pieces %v are not those of the orders: %v", b.pieces, pieces)
	case len(b.holds) > 0 && sums["held"] == 0:
		return fmt.Errorf("holds without orders: %v", b.holds)
	}
	if err := b.agree(b.placed, parts, func(order) bool { return true }); err != nil {
		return fmt.Errorf("the stream of orders: %w", err)
	}
	whole := slices.DeleteFunc(slices.Clone(b.taken), func(e map[string]string) bool { return e["left"] != "" })
	if err := b.agree(whole, nil, func(o order) bool { return o.state == "gone" }); err != nil {
		return fmt.Errorf("the stream of orders taken back: %w", err)
	}
	return nil
}

// agree checks that each order that belongs into a stream is there once, and nothing else. parts holds the
// pieces that the entry has and the order no longer has.
func (b *books) agree(entries []map[string]string, parts map[string]int, belongs func(order) bool) error {
	seen := map[string]bool{}
	for _, e := range entries {
		o, known := b.orders[e["id"]]
		switch {
		case !known || !belongs(o):
			return fmt.Errorf("%v is not the entry of an order: %v", e, o)
		case seen[o.id]:
			return fmt.Errorf("%v stands there twice", e)
		case e["userId"] != o.user || e["voucherId"] != b.voucher || e["qty"] != strconv.Itoa(o.qty+parts[o.id]):
			return fmt.Errorf("%v is not the entry of %v", e, o)
		}
		seen[o.id] = true
	}
	for id, o := range b.orders {
		if belongs(o) && !seen[id] {
			return fmt.Errorf("%v is missing", o)
		}
	}
	return nil
}

// state returns the state with which the model continues. more has the orders of carts in the other sale.
func (b *books) state(nowMS int64, more *books) (state, error) {
	s := state{nowMS: nowMS, stock: b.stock, total: b.total}
	for _, o := range b.orders {
		o.other, o.otherEndMS = more.orders[o.id].state, more.orders[o.id].endMS
		s = s.with(o)
	}
	for id, o := range more.orders {
		if b.orders[id].user != o.user {
			return s, fmt.Errorf("the cart %v has no part in the other sale", o)
		}
	}
	return s.done(), nil
}
