package demo

import "sync"

// ledger represents the database: a table of orders with the number as primary key and a unique index on the
// user.
type ledger struct {
	mu      sync.Mutex
	byOrder map[string]string // order -> user
	byUser  map[string]string // user -> order
	// repeats are orders that were there already, as they are when an order is delivered again. clashes are
	// those that the unique index refused: another order of a user who has one.
	repeats, clashes int
}

func newLedger() *ledger {
	return &ledger{byOrder: make(map[string]string), byUser: make(map[string]string)}
}

// insert writes an order, if it is not there already, and returns how many there are.
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
