package sales

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// order is an order in the model.
type order struct {
	id, user string
	qty      int
	state    string // the words of the order's record
	endMS    int64  // the end of its hold
	beganMS  int64  // of a hold that was extended, in a sale with HOLDMAX
	// other is the state of the part of a cart in the other sale, and otherEndMS the end of that part's hold.
	other      string
	otherEndMS int64
	text       string // all fields as text
}

// terms holds the settings of a sale.
type terms struct {
	startMS, endMS int64 // endMS 0 means no end
	limit          int
	holdMS         int64 // 0 means no hold
	holdMaxMS      int64 // 0: no bound
}

// state is the state of a sequential sale. It is immutable: a step returns a new state.
type state struct {
	nowMS  int64
	stock  int
	total  int     // sum of the pieces created and restocked
	orders []order // sorted by id; they are never removed
	text   string  // identifies the state
	hash   uint64  // the hash of text
}

// done returns the state with its text set.
func (s state) done() state {
	var b strings.Builder
	fmt.Fprint(&b, s.nowMS, " ", s.stock, " ", s.total)
	for i := range s.orders {
		b.WriteString(s.orders[i].text)
	}
	s.text = b.String()
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(s.text))
	s.hash = sum.Sum64()
	return s
}

func (s state) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.orders, id, func(o order, id string) int { return strings.Compare(o.id, id) })
}

// with returns the state with a new order, or with a new state of an order.
func (s state) with(o order) state {
	i, known := s.find(o.id)
	o.text = fmt.Sprintf(" %s %s %s %d %d %d %q %d", o.id, o.user, o.state, o.qty, o.endMS, o.beganMS, o.other, o.otherEndMS)
	s.orders = slices.Clone(s.orders)
	if known {
		s.orders[i] = o
	} else {
		s.orders = slices.Insert(s.orders, i, o)
	}
	return s
}

// at returns the state at a later time: due holds have ended.
func (s state) at(nowMS int64) state {
	s.nowMS = nowMS
	for _, o := range s.orders {
		if o.state == "held" && o.endMS <= nowMS {
			s.stock += o.qty
			o.state, o.endMS, o.beganMS = "gone", 0, 0
			s = s.with(o)
		}
		if o.other == "held" && o.otherEndMS <= nowMS {
			o.other, o.otherEndMS = "gone", 0
			s = s.with(o)
		}
	}
	return s.done()
}

// pieces returns the number of a user's pieces.
func (s state) pieces(user string) (n int) {
	for _, o := range s.orders {
		if o.user == user && o.state != "gone" {
			n += o.qty
		}
	}
	return n
}

// sum returns the number of pieces of orders in some states.
func (s state) sum(states ...string) (n int) {
	for _, o := range s.orders {
		if slices.Contains(states, o.state) {
			n += o.qty
		}
	}
	return n
}

// apply returns the state after an operation, and the reply.
func (t *terms) apply(s state, op *operation) (state, string) {
	switch op.kind {
	case sell:
		return t.sell(s, op)
	case confirm, cancel:
		return s.finish(op)
	case extend:
		return t.extend(s, op)
	case restock:
		now := max(s.stock+op.qty, 0)
		s.total += now - s.stock
		s.stock = now
		return s.done(), fmt.Sprint(now)
	case look:
		return s, t.info(s)
	case tick:
		return s.at(s.nowMS + 1), ""
	}
	if op.only != nil {
		return s, s.ordersText(op.only)
	}
	return s, s.text // audit
}

func (t *terms) sell(s state, op *operation) (state, string) {
	if i, known := s.find(op.order); known {
		return s, s.orders[i].again(op)
	}
	switch {
	case s.stock == 0:
		return s, op.cart.refused("1")
	case op.qty > t.limit:
		return s, fmt.Sprintf("-ERR seckill QTY is above the limit of %d per user", t.limit)
	case s.nowMS < t.startMS:
		return s, op.cart.refused("3")
	case t.endMS != 0 && s.nowMS >= t.endMS:
		return s, op.cart.refused("4")
	case s.stock < op.qty:
		return s, op.cart.refused("1")
	case s.pieces(op.user)+op.qty > t.limit:
		return s, op.cart.refused("2")
	}
	o := order{id: op.order, user: op.user, qty: op.qty, state: "sold"}
	if t.holdMS > 0 {
		o.state, o.endMS = "held", s.nowMS+t.holdMS
	}
	if op.cart != noCart {
		o.other, o.otherEndMS = o.state, o.endMS
	}
	s.stock -= op.qty
	return s.with(o).done(), "0"
}

// again returns the reply to a call that names the order anew.
func (o *order) again(op *operation) string {
	switch {
	case o.user != op.user:
		return belongsTo(o.id)
	case o.state == "gone", op.cart != noCart && o.other == "gone":
		return op.cart.gone(o.state == "gone", o.other == "gone")
	case op.cart != noCart && o.other == "":
		return notACart(o.id)
	}
	return "0"
}

func (s state) finish(op *operation) (state, string) {
	i, known := s.find(op.order)
	switch {
	case !known:
		return s, "0"
	case s.orders[i].user != op.user:
		return s, belongsTo(op.order)
	}
	o := s.orders[i]
	if o.state != "held" && o.state != "sold" {
		return s, "0"
	}
	switch {
	case op.kind == confirm:
		o.state, o.endMS, o.beganMS = "paid", 0, 0
	case op.part > o.qty:
		return s, fmt.Sprintf("-ERR seckill order '%s' has only %d pieces", o.id, o.qty)
	case op.part > 0 && op.part < o.qty:
		s.stock += op.part
		o.qty -= op.part
	default:
		o.state, o.endMS, o.beganMS = "gone", 0, 0
		s.stock += o.qty
	}
	return s.with(o).done(), "1"
}

// extend makes a hold end later.
func (t *terms) extend(s state, op *operation) (state, string) {
	i, known := s.find(op.order)
	switch {
	case !known:
		return s, "0"
	case s.orders[i].user != op.user:
		return s, belongsTo(op.order)
	case s.orders[i].state != "held":
		return s, "0"
	}
	o := s.orders[i]
	later, beganMS := s.nowMS+op.ms, o.beganMS
	if beganMS == 0 {
		beganMS = o.endMS - t.holdMS
	}
	switch {
	case t.holdMaxMS > 0 && later > beganMS+t.holdMaxMS:
		return s, fmt.Sprintf("-ERR seckill hold would be longer than the HOLDMAX of %d ms", t.holdMaxMS)
	case later <= o.endMS:
		return s, "1"
	case t.holdMaxMS > 0:
		o.beganMS = beganMS
	}
	o.endMS = later
	return s.with(o).done(), "1"
}

func belongsTo(order string) string {
	return "-ERR seckill order '" + order + "' belongs to another user"
}

func notACart(order string) string {
	return "-ERR seckill order '" + order + "' is that of another cart"
}

// info returns the reply of SECKILL.INFO.
func (t *terms) info(s state) string {
	word := "open"
	switch {
	case s.nowMS < t.startMS:
		word = "pending"
	case t.endMS != 0 && s.nowMS >= t.endMS:
		word = "ended"
	case s.stock == 0:
		word = "soldout"
	}
	buyers := map[string]bool{}
	for _, o := range s.orders {
		if o.state != "gone" {
			buyers[o.user] = true
		}
	}
	longest := ""
	if t.holdMaxMS > 0 {
		longest = fmt.Sprintf(`"hold-max" %d `, t.holdMaxMS)
	}
	return fmt.Sprintf(`["state" %q "stock" %d "total" %d "sold" %d "held" %d "confirmed" %d "buyers" %d "start" %d "end" %d "limit" %d "hold" %d `+
		longest+`"stream" "orders" "stream-length" %d "groups" []]`, word, s.stock, s.total, s.sum("held", "sold", "paid"), s.sum("held"),
		s.sum("paid"), len(buyers), t.startMS, t.endMS, t.limit, t.holdMS, len(s.orders))
}

// porcupine returns the model of a sale with a first state.
func (t *terms) porcupine(begin state) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{&begin} },
		Step: func(from, input, _ any) []any {
			s, op := from.(*state), input.(*operation)
			next, reply := t.apply(*s, op)
			switch {
			case op.unknown:
				return []any{s, &next}
			case reply == op.reply || op.anyReply:
				return []any{&next}
			}
			return nil
		},
		Equal:         func(a, b any) bool { return a.(*state).hash == b.(*state).hash && a.(*state).text == b.(*state).text },
		Hash:          func(s any) uint64 { return s.(*state).hash },
		DescribeState: func(s any) string { return s.(*state).text },
	}
	return m.ToModel()
}
