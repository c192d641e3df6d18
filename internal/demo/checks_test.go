package demo

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// aGoodSale returns the facts after a perfect sale of three pieces to five users.
func aGoodSale() *facts {
	f := &facts{stock: 3, users: 5, remembered: 3, length: 3, orders: make(map[string]order),
		perUser: make(map[string]int), victim: &death{worker: "worker-1", written: 1, pending: 2}, takenOver: 2,
		selling: &selling{answeredSold: make(map[int32]bool), lost: map[int32]bool{2: true}, resent: 2, sameAgain: 2},
		ledger:  newLedger(), said: map[string]int64{"total": 3, "sold": 3, "buyers": 3}}
	for user := range int32(3) {
		r := request{user: user}
		o := order{id: fmt.Sprint(user, "-0"), user: r.name(), voucher: "v", number: r.order()}
		f.orders[o.number] = o
		f.perUser[o.user]++
		f.selling.answeredSold[user] = true
		f.ledger.insert(o)
	}
	f.ledger.insert(f.orders[request{user: 1}.order()]) // delivered again
	return f
}

func broken(f *facts) (texts []string) {
	for _, c := range f.checks() {
		if !c.Holds {
			texts = append(texts, c.Text)
		}
	}
	return texts
}

func TestEachLieIsFoundOut(t *testing.T) {
	f := aGoodSale()
	require.Empty(t, broken(f))
	require.Len(t, f.checks(), 10)
	require.Equal(t, 1, f.ledger.repeats)

	for name, c := range map[string]struct {
		lie  func(*facts)
		want []string
	}{
		"stock":       {func(f *facts) { f.left = 1 }, []string{"the stock is 1"}},
		"oversold":    {func(f *facts) { f.stock, f.said["total"] = 2, 2 }, []string{"no more and no less: 3 of 2 pieces were sold"}},
		"undersold":   {func(f *facts) { f.stock, f.left, f.said["total"] = 4, 0, 4 }, []string{"no more and no less: 3 of 4 pieces were sold"}},
		"remembered":  {func(f *facts) { f.remembered = 2 }, []string{"once per user: 3 orders of 3 users, and 2 buyers are remembered"}},
		"not a buyer": {func(f *facts) { f.notBuyers = 1 }, []string{"once per user: 3 orders of 3 users, and 3 buyers are remembered"}},
		"twice in the stream": {func(f *facts) { f.length = 4 }, []string{"no more and no less: 3 of 3 pieces were sold",
			"each order is in the stream once: 4 entries, 3 orders"}},
		"answered, and no order": {func(f *facts) { f.selling.answeredSold[4] = true },
			[]string{"every user got the true answer: 4 heard that they bought, 1 of them did not, 0 bought unheard"}},
		"an order, and not answered": {func(f *facts) { delete(f.selling.answeredSold, 2) },
			[]string{"every user got the true answer: 2 heard that they bought, 0 of them did not, 1 bought unheard"}},
		"not written": {func(f *facts) { delete(f.ledger.byOrder, request{user: 0}.order()) },
			[]string{"each order was processed exactly once: 3 in the stream, 2 in the ledger"}},
		"written for another": {func(f *facts) { f.ledger.byOrder[request{user: 0}.order()] = "user-4" },
			[]string{"each order was processed exactly once: 3 in the stream, 3 in the ledger"}},
		"refused by the index": {func(f *facts) { f.ledger.insert(order{user: "user-0", number: "x"}) },
			[]string{"each order was processed exactly once: 3 in the stream, 3 in the ledger"}},
		"no worker died":         {func(f *facts) { f.victim = nil }, []string{"a worker was to be killed, and was not"}},
		"not taken over":         {func(f *facts) { f.takenOver = 1 }, []string{"worker-1 died with 2 orders in its hands; 1 were taken over"}},
		"pending":                {func(f *facts) { f.pending = 1 }, []string{"nothing is left to do: 1 unacknowledged, 0 undelivered"}},
		"lag":                    {func(f *facts) { f.lag = 1 }, []string{"nothing is left to do: 0 unacknowledged, 1 undelivered"}},
		"the server's own total": {func(f *facts) { f.said["total"] = 4 }, []string{"SECKILL.INFO says the same: total 4, sold 3, buyers 3"}},
		"its count":              {func(f *facts) { f.said["sold"] = 4 }, []string{"SECKILL.INFO says the same: total 3, sold 4, buyers 3"}},
		"another answer":         {func(f *facts) { f.selling.sameAgain = 1 }, []string{"who asked again for the same order heard the same again: 1 of 2"}},
	} {
		f := aGoodSale()
		c.lie(f)
		require.Equal(t, c.want, broken(f), name)
	}
}

// TestUserTwice: a second order of a user fails the checks that it should fail.
func TestUserTwice(t *testing.T) {
	f := aGoodSale()
	r := request{user: 0, second: true}
	f.orders[r.order()] = order{id: "9-0", user: r.name(), voucher: "v", number: r.order()}
	f.perUser[r.name()]++
	f.length++
	f.remembered++
	require.Contains(t, broken(f), "once per user: 4 orders of 3 users, and 4 buyers are remembered")
}
