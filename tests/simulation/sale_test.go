//go:build simulation

package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sale models a sale with orders and a limit of one piece: SECKILL, SECKILL.CONFIRM, SECKILL.CANCEL. In the
// sale with holds, orders must be confirmed before their hold ends. A hold lasts at least for its length
// after the command was sent, in the time of the run. It has no upper limit, because the end of a leader
// extends it. So a later command may find it over, or not. After the group has healed and time has passed, no
// hold is left.
type sale struct {
	stock  int
	orders string // all orders, sorted by id, as " id:user:state"
	sure   []hold // sorted by id
	// now is the latest time so far at which an operation was sent.
	now time.Duration
}

// hold is a hold that certainly has not ended before a time.
type hold struct {
	order string
	until time.Duration
}

// pieces is the stock at the start.
const pieces = 4

// holdMS is how long an order of the sale with holds waits for its confirmation. holding is the number of
// that sale. orderEvery is the time in which one more order becomes possible.
const (
	holdMS     = 700
	holding    = 1
	orderEvery = 250 * time.Millisecond
)

func saleFamily() family {
	about := func(n int) string { return fmt.Sprint("sale ", n) }
	return family{name: "sale", keys: 2, model: func() sequential { return sale{stock: pieces} },
		final: func(n int) *operation {
			o := op(about(n), "look", "SECKILL.INFO", fmt.Sprint("sale", n))
			o.value = allOver
			return o
		},
		draw: func(c *client, n int) *operation {
			name := fmt.Sprint("sale", n)
			// A few orders, so that a client repeats some of them; each has one user. With holds they change
			// as time goes on, because none of them lasts.
			order := c.chance.below(12)
			user := fmt.Sprint("u", order%8)
			if n == holding {
				order = int(time.Since(c.world.begun)/orderEvery) + c.chance.below(4)
				user = fmt.Sprint("u", order)
			}
			id := fmt.Sprintf("o%02d", order)
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
				if n == holding {
					o.lease = holdMS * time.Millisecond
				}
			}
			o.value = id + ":" + user
			return o
		}}
}

// allOver is the value of the read after which no hold may be left.
const allOver = "all over"

// String implements sequential. For a hold that may be over, the time of its end makes no difference.
func (s sale) String() string {
	text := append(make([]byte, 0, 128), s.orders...)
	text = strconv.AppendInt(text, int64(s.stock), 10)
	for _, h := range s.sure {
		text = append(append(text, ' '), h.order...)
		text = strconv.AppendInt(append(text, ' '), int64(max(0, h.until-s.now)), 10)
	}
	return string(text)
}

// find returns the state of an order.
func (s sale) find(order string) (state string) {
	if _, rest, ok := strings.Cut(s.orders, " "+order+":"); ok {
		state, _, _ = strings.Cut(rest, " ")
	}
	return state
}

// with returns the sale with an order in a state.
func (s sale) with(order, state string) sale {
	all := strings.Fields(s.orders)
	all = slices.DeleteFunc(all, func(o string) bool { return strings.HasPrefix(o, order+":") })
	all = append(all, order+":"+state)
	slices.Sort(all)
	s.orders = " " + strings.Join(all, " ")
	s.sure = slices.DeleteFunc(slices.Clone(s.sure), func(h hold) bool { return h.order == order })
	return s
}

// has reports whether a user has a piece.
func (s sale) has(user string) bool {
	return slices.ContainsFunc(strings.Fields(s.orders), func(o string) bool {
		p := strings.Split(o, ":")
		return p[1] == user && p[2] != "gone"
	})
}

func (s sale) after(op *operation) (all []sequential) {
	if !op.unknown {
		s.now = max(s.now, op.call.after)
	}
	for _, one := range s.expired(op.ret.after) {
		next, want := one.apply(op)
		switch {
		case op.unknown, op.what != "look" && !op.reply.IsError() && int(op.reply.Int) == want, op.what == "look" && one.seen(op):
			all = append(all, next)
		}
	}
	return all
}

// expired returns the possible sales at a moment: none, some or all of the holds that can have ended have
// ended.
func (s sale) expired(by time.Duration) []sale {
	all := []sale{s}
	for _, h := range s.sure {
		if h.until > by {
			continue
		}
		for _, one := range slices.Clone(all) {
			one.stock++
			all = append(all, one.with(h.order, "gone"))
		}
	}
	return all
}

// seen reports whether a reply of SECKILL.INFO agrees with the model.
func (s sale) seen(op *operation) bool {
	held, paid := len(s.sure), strings.Count(s.orders, ":paid")
	if op.value == allOver && held > 0 {
		return false
	}
	return field(op, "stock") == s.stock && field(op, "held") == held && field(op, "confirmed") == paid
}

// field returns a field of SECKILL.INFO's reply.
func field(op *operation, name string) int {
	e := op.reply.Elems
	for i := 0; i+1 < len(e); i += 2 {
		if e[i].Str == name {
			return int(e[i+1].Int)
		}
	}
	return -2
}

// apply returns the sale after an operation, and its reply.
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
	if op.lease == 0 {
		return s.with(op.value, "sold"), 0
	}
	s = s.with(op.value, "held")
	s.sure = append(s.sure, hold{op.value, op.call.after + op.lease - leaseSlack(op.lease)})
	slices.SortFunc(s.sure, func(a, b hold) int { return strings.Compare(a.order, b.order) })
	return s, 0
}
