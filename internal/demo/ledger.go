package demo

import "sync"

// ledger imitates a database: a table of orders with the number as primary key and a unique index on the
// user.
type ledger struct {
	mu      sync.Mutex
	byOrder map[string]string // order -> user
	byUser  map[string]string // user -> order
	// repeats counts orders that were in the table already, because an order can be delivered twice. clashes
	// counts orders that the unique index refused: the user has another order.
	repeats, clashes int
}

func newLedger() *ledger {
	return &ledger{byOrder: make(map[string]string), byUser: make(map[string]string)}
}

// insert writes an order, if it is not in the table yet, and returns the number of orders.
func (l *ledger) insert(o order) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, repeated := l.byOrder[o.number]
	_, taken := l.byUser[o.user]
	switch {
	case repeated:
		l.repeats++
	case taken:
		l.clashes++
	default:
		l.byOrder[o.number], l.byUser[o.user] = o.user, o.number
	}
	return len(l.byOrder)
}
