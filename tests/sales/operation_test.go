package sales

import (
	"fmt"
	"strconv"

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

// voucher is the name of the sale.
const voucher = "v"

// args returns the operation as a command.
func (op *operation) args() []string {
	switch op.kind {
	case sell:
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
