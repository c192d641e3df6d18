package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Outcome is the result of an order.
type Outcome int

// The outcomes, by the server's numbers.
const (
	Sold          Outcome = iota // stock was deducted, and the order appended to the sale's stream
	SoldOut                      // there is not enough stock
	BoughtAlready                // the user has all that the sale's limit allows
	NotStarted                   // the sale is not open yet
	Over                         // the sale is not open any more
	TakenBack                    // this order was cancelled, or not confirmed in time: a new one needs a new id
	TooFast                      // the rate of the sale does not allow the call now
)

var outcomes = [...]string{"sold", "sold out", "bought already", "not started", "over", "taken back", "too fast"}

func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomes) {
		return strconv.Itoa(int(o))
	}
	return outcomes[o]
}

// Sale is a flash sale, made with [Sale.Create]. Its commands may be sent again: the server knows an order by
// its id. Each call returns at the end of its context, and within [Timeout] for each command that it sends:
// one for Buy, two for Confirm and Cancel.
type Sale struct {
	client  *Client
	voucher string
}

// Sale returns the sale of a voucher.
func (c *Client) Sale(voucher string) Sale { return Sale{c, voucher} }

// Buy orders one piece for a user, or the given number of pieces. The same order always gets the same answer.
func (s Sale) Buy(ctx context.Context, user, order string, pieces ...int) (Outcome, error) {
	n, err := one("a number of pieces", 1, 1, pieces)
	if err = cmp.Or(s.check(user, order), err); err != nil {
		return 0, err
	}
	words := []string{"SECKILL", s.voucher, user, order}
	if n != 1 {
		words = append(words, "QTY", strconv.Itoa(n))
	}
	outcome, err := s.client.number(ctx, words)
	return Outcome(outcome), err
}

// check refuses empty ids.
func (s Sale) check(user, order string) error {
	return cmp.Or(named("a voucher", s.voucher), named("a user", user), named("an order", order))
}

// Confirm says that an order was paid, so it is kept. done: it is confirmed, by this call or an earlier call.
// Otherwise it was cancelled, or taken back, or does not exist.
func (s Sale) Confirm(ctx context.Context, user, order string) (done bool, err error) {
	return s.finish(ctx, "SECKILL.CONFIRM", user, order, "paid")
}

// Cancel gives an order back. done: it is given back, by this call, an earlier call, or the end of its hold.
// Otherwise it is confirmed, or does not exist.
func (s Sale) Cancel(ctx context.Context, user, order string) (done bool, err error) {
	return s.finish(ctx, "SECKILL.CANCEL", user, order, "gone")
}

// CancelPart gives pieces of an order back, and keeps the rest of it with its hold. All its pieces cancel the
// order. done: they are given back. Otherwise the order is confirmed, taken back, or does not exist. It is
// sent once, over the client's own connection: after an error of the connection it may have been done or not.
func (s Sale) CancelPart(ctx context.Context, user, order string, pieces int) (done bool, err error) {
	if err := cmp.Or(s.check(user, order), atLeast(1, "a number of pieces", pieces)); err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.client.limit, ErrNoAnswer)
	defer cancel()
	reply, err := s.client.keeper.sendOnce(limited, s.voucher, []string{"SECKILL.CANCEL", s.voucher, user, order, "QTY", strconv.Itoa(pieces)})
	return reply == int64(1), replied(err)
}

// Extend keeps an order that is not confirmed for d from now on, or for longer if it was kept for longer
// before. done: it is kept. Otherwise it is confirmed, taken back, of a sale without holds, or does not
// exist. If the hold would be longer than HoldMax of the sale, the error is a [ReplyError], and nothing has
// changed.
func (s Sale) Extend(ctx context.Context, user, order string, d time.Duration) (done bool, err error) {
	ms, odd := wholeMS("a hold", d)
	if err := cmp.Or(s.check(user, order), odd); err != nil {
		return false, err
	}
	n, err := s.client.number(ctx, []string{"SECKILL.EXTEND", s.voucher, user, order, decimal(ms)})
	return n == 1, err
}

// CartPart is one sale of a cart, and the pieces that are ordered there.
type CartPart struct {
	Voucher string
	Pieces  int
}

// mostParts is how many sales a cart may name on the server.
const mostParts = 64

// BuyCart orders pieces of several sales in one step, under one order id and one hold: all parts or none. If
// a part is refused, refused is its index and outcome its answer. Otherwise outcome is Sold and refused -1.
// The same cart always gets the same answer. Each part is confirmed, cancelled and extended by its own sale.
// In a cluster the vouchers share a slot ([ErrCrossSlot]).
func (c *Client) BuyCart(ctx context.Context, user, order string, parts []CartPart) (refused int, outcome Outcome, err error) {
	if len(parts) == 0 || len(parts) > mostParts {
		return -1, 0, bad("a cart of %d parts, and not 1 to %d", len(parts), mostParts)
	}
	words := []string{"SECKILL.CART", user, order, strconv.Itoa(len(parts))}
	for _, part := range parts {
		if err := cmp.Or(c.Sale(part.Voucher).check(user, order), atLeast(1, "a number of pieces", part.Pieces)); err != nil {
			return -1, 0, err
		}
		words = append(words, part.Voucher, strconv.Itoa(part.Pieces))
	}
	reply, err := c.again(ctx, words)
	if err != nil {
		return -1, 0, err
	}
	if reply == int64(0) {
		return -1, Sold, nil
	}
	numbers := tokensOf(reply)
	if len(numbers) != 2 {
		return -1, 0, fmt.Errorf("SECKILL.CART: the reply is %v", reply)
	}
	return int(numbers[0]) - 1, Outcome(numbers[1]), nil
}

// finish sends a command that replies 1, or 0 when there is nothing to do. With 0 the same command may have
// been done before, and its answer was lost. So finish reads the order's record.
func (s Sale) finish(ctx context.Context, command, user, order, state string) (bool, error) {
	if err := s.check(user, order); err != nil {
		return false, err
	}
	n, err := s.client.number(ctx, []string{command, s.voucher, user, order})
	if n != 0 || err != nil {
		return n == 1, err
	}
	reply, err := s.client.again(ctx, []string{"HGET", "seckill:orders:" + s.voucher, order})
	if err != nil {
		return false, err
	}
	record, _ := reply.(string) // "paid 2 ann": state, pieces, user
	return strings.HasPrefix(record, state+" "), nil
}
