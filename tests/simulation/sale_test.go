//go:build simulation

package simulation

import (
	"fmt"
	"slices"
	"strings"
)

// sale is one with orders and a limit of one piece: SECKILL, SECKILL.CONFIRM, SECKILL.CANCEL.
type sale struct {
	stock  int
	orders string // of each in the order of ids: " id:user:state"
}

// pieces is how many there are to be sold at the beginning.
const pieces = 4

func saleFamily() family {
	about := func(n int) string { return fmt.Sprint("sale ", n) }
	return family{name: "sale", keys: 1, model: func() sequential { return sale{stock: pieces} },
		final: func(n int) *operation { return op(about(n), "look", "SECKILL.INFO", fmt.Sprint("sale", n)) },
		draw: func(c *client, n int) *operation {
			name := fmt.Sprint("sale", n)
			// A few orders, so that somebody asks again; each has one user.
			order := c.chance.below(12)
			user, id := fmt.Sprint("u", order%8), fmt.Sprintf("o%02d", order)
			var o *operation
			switch c.chance.below(8) {
			case 0:
				o = op(about(n), "look", "SECKILL.INFO", name)
			case 1, 2:
				o = op(about(n), "cancel", "SECKILL.CANCEL", name, user, id)
			case 3:
				o = op(about(n), "confirm", "SECKILL.CONFIRM", name, user, id)
			default:
				o = op(about(n), "buy", "SECKILL", name, user, id)
			}
			o.value = id + ":" + user
			return o
		}}
}

func (s sale) String() string { return fmt.Sprint(s.stock, s.orders) }

// find is what became of an order.
func (s sale) find(order string) (state string) {
	if _, rest, ok := strings.Cut(s.orders, " "+order+":"); ok {
		state, _, _ = strings.Cut(rest, " ")
	}
	return state
}

// with is the sale with an order in a state.
func (s sale) with(order, state string) sale {
	all := strings.Fields(s.orders)
	all = slices.DeleteFunc(all, func(o string) bool { return strings.HasPrefix(o, order+":") })
	all = append(all, order+":"+state)
	slices.Sort(all)
	s.orders = " " + strings.Join(all, " ")
	return s
}

// has reports whether a user has a piece.
func (s sale) has(user string) bool {
	return slices.ContainsFunc(strings.Fields(s.orders), func(o string) bool {
		p := strings.Split(o, ":")
		return p[1] == user && p[2] != "gone"
	})
}

func (s sale) after(op *operation) []sequential {
	next, want := s.apply(op)
	if op.unknown {
		return if1(next, true)
	}
	if op.what == "look" {
		return if1(s, infoStock(op) == s.stock)
	}
	return if1(next, !op.reply.IsError() && int(op.reply.Int) == want)
}

// infoStock is the field of SECKILL.INFO's reply.
func infoStock(op *operation) int {
	e := op.reply.Elems
	for i := 0; i+1 < len(e); i += 2 {
		if e[i].Str == "stock" {
			return int(e[i+1].Int)
		}
	}
	return -2
}

// apply is what an operation does, and what it answers.
func (s sale) apply(op *operation) (next sale, want int) {
	state := s.find(op.value)
	_, user, _ := strings.Cut(op.value, ":")
	switch op.what {
	case "look":
		return s, 0
	case "confirm", "cancel":
		if state != "held" && state != "sold" {
			return s, 0
		}
		if op.what == "confirm" {
			return s.with(op.value, "paid"), 1
		}
		s.stock++
		return s.with(op.value, "gone"), 1
	}
	switch {
	case state == "gone":
		return s, 5
	case state != "":
		return s, 0
	case s.stock == 0:
		return s, 1
	case s.has(user):
		return s, 2
	}
	s.stock--
	return s.with(op.value, "sold"), 0
}
