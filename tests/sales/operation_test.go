package sales

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockserver/tests/testkit"
)

// kind is the kind of an operation.
type kind int

const (
	sell kind = iota
	confirm
	cancel
	extend
	restock
	look  // SECKILL.INFO
	tick  // the clock moves by a millisecond
	audit // a reading of all keys while no client is active
)

// operation is an entry of a history.
type operation struct {
	kind        kind
	user, order string
	qty         int
	cart        place // of a sell: the order is a cart of this sale and the other one
	part        int   // of a cancel: the pieces that come back; 0: all
	ms          int64 // of an extension
	client      int
	inMulti     bool
	// unknown means that the connection broke before the reply. The operation took effect at some time after
	// its call, or never.
	unknown bool
	reply   string // as resp.Value.String writes it
	// anyReply and only are for shrunk histories. anyReply means that the reply depends on something that was
	// left out. only lists the orders that an audit checks; nil means all orders and the sums.
	anyReply  bool
	only      map[string]bool
	call, ret int64
}

// place is the place of the sale in a cart.
type place int

const (
	noCart place = iota
	first        // the other sale is the second part
	second       // the other sale is the first part
)

// gone returns the reply to a repeated call if parts were taken back: that of the sale, of the other sale, or
// both.
func (p place) gone(sale, other bool) string {
	switch {
	case p == noCart:
		return "5"
	case sale && (p == first || !other):
		return p.refused("5")
	}
	return (first + second - p).refused("5")
}

// refused returns the reply of a call that the sale refuses.
func (p place) refused(answer string) string {
	if p == noCart {
		return answer
	}
	return fmt.Sprintf("[%d %s]", p, answer)
}

// voucher is the name of the sale. other is the name of a sale that never refuses: it has the other part of
// each cart, always of one piece.
const (
	voucher = "v"
	other   = "w"
)

// args returns the operation as a command.
func (op *operation) args() []string {
	switch op.kind {
	case sell:
		sale, more := []string{voucher, strconv.Itoa(op.qty)}, []string{other, "1"}
		switch op.cart {
		case first:
			return slices.Concat([]string{"SECKILL.CART", op.user, op.order, "2"}, sale, more)
		case second:
			return slices.Concat([]string{"SECKILL.CART", op.user, op.order, "2"}, more, sale)
		}
		args := []string{"SECKILL", voucher, op.user, op.order}
		if op.qty != 1 {
			args = append(args, "QTY", strconv.Itoa(op.qty))
		}
		return args
	case confirm:
		return []string{"SECKILL.CONFIRM", voucher, op.user, op.order}
	case cancel:
		args := []string{"SECKILL.CANCEL", voucher, op.user, op.order}
		if op.part > 0 {
			args = append(args, "QTY", strconv.Itoa(op.part))
		}
		return args
	case extend:
		return []string{"SECKILL.EXTEND", voucher, op.user, op.order, strconv.FormatInt(op.ms, 10)}
	case restock:
		return []string{"SECKILL.RESTOCK", voucher, strconv.Itoa(op.qty)}
	case look:
		return []string{"SECKILL.INFO", voucher}
	}
	return nil
}

// answer returns the reply without the place that a cart's has.
func (op *operation) answer() string {
	if inner, ok := strings.CutPrefix(op.reply, fmt.Sprintf("[%d ", op.cart)); ok && op.cart != noCart {
		return strings.TrimSuffix(inner, "]")
	}
	return op.reply
}

func (op *operation) String() string {
	what := testkit.Line(op.args())
	switch op.kind {
	case tick:
		what = "a millisecond passes"
	case audit:
		what = "the keys"
	}
	reply := op.reply
	if op.unknown {
		reply = "?"
	}
	return fmt.Sprintf("%d..%d client %d: %s -> %s", op.call, op.ret, op.client, what, reply)
}
