package demo

import (
	"fmt"
	"maps"
)

// Check is one promise of a sale, and whether it was kept.
type Check struct {
	Holds bool
	// Text is the promise, with the numbers that were found.
	Text string
}

// checks compares the facts with the promises.
func (f *facts) checks() []Check {
	want := min(f.stock, f.users)
	orders := len(f.orders)
	return []Check{
		{orders == want && int(f.length) == want,
			fmt.Sprintf("no more and no less: %s of %s pieces were sold", commas(orders), commas(f.stock))},
		{f.left == int64(f.stock-want),
			fmt.Sprintf("the stock is %s", commas(int(f.left)))},
		{len(f.perUser) == orders && int(f.remembered) == orders && f.notBuyers == 0,
			fmt.Sprintf("once per user: %s orders of %s users, and %s buyers are remembered", commas(orders),
				commas(len(f.perUser)), commas(int(f.remembered)))},
		{int(f.length) == orders,
			fmt.Sprintf("each order is in the stream once: %s entries, %s orders", commas(int(f.length)), commas(orders))},
		f.answersAreTrue(),
		{f.selling.sameAgain == f.selling.resent,
			fmt.Sprintf("who asked again for the same order heard the same again: %s of %s", commas(f.selling.sameAgain),
				commas(f.selling.resent))},
		f.takenOverFromTheDead(),
		{maps.Equal(f.ledger.byOrder, f.usersByOrder()) && f.ledger.clashes == 0,
			fmt.Sprintf("each order was processed exactly once: %s in the stream, %s in the ledger", commas(orders),
				commas(len(f.ledger.byOrder)))},
		{f.pending == 0 && f.lag == 0,
			fmt.Sprintf("nothing is left to do: %s unacknowledged, %s undelivered", commas(int(f.pending)), commas(int(f.lag)))},
		{f.said["total"] == int64(f.stock) && f.said["sold"] == int64(orders) && f.said["buyers"] == int64(len(f.perUser)),
			fmt.Sprintf("SECKILL.INFO says the same: total %s, sold %s, buyers %s", commas(int(f.said["total"])),
				commas(int(f.said["sold"])), commas(int(f.said["buyers"])))},
	}
}

// answersAreTrue checks that the users with the answer "bought" are exactly the users with an order. A user
// may have received the answer only at a retry, because the first answer was lost.
func (f *facts) answersAreTrue() Check {
	answered, liedTo := len(f.selling.answeredSold), 0
	for user := range f.selling.answeredSold {
		if f.perUser[request{user: user}.name()] == 0 {
			liedTo++
		}
	}
	unheard := len(f.perUser) - (answered - liedTo)
	return Check{liedTo == 0 && unheard == 0,
		fmt.Sprintf("every user got the true answer: %s heard that they bought, %s of them did not, %s bought unheard",
			commas(answered), commas(liedTo), commas(unheard))}
}

// takenOverFromTheDead checks that one worker was killed, and that its unacknowledged orders were delivered
// again.
func (f *facts) takenOverFromTheDead() Check {
	if f.victim == nil {
		return Check{false, "a worker was to be killed, and was not"}
	}
	return Check{f.takenOver >= int64(f.victim.pending), fmt.Sprintf("%s died with %s orders in its hands; %s were taken over",
		f.victim.worker, commas(f.victim.pending), commas(int(f.takenOver)))}
}

// usersByOrder returns the stream in the form of the ledger.
func (f *facts) usersByOrder() map[string]string {
	m := make(map[string]string, len(f.orders))
	for number, o := range f.orders {
		m[number] = o.user
	}
	return m
}
