package demo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// batchSize is the number of orders that a worker takes at a time.
	batchSize = 16
	// commitTime is the time for writing a batch: about as long as a transaction of a database.
	commitTime = 5 * time.Millisecond
	// takeOverAfter is the time after which the other workers take over an order of a worker. A slow worker
	// loses its orders too, which does no harm to the ledger.
	takeOverAfter = 300 * time.Millisecond
	// idleFor is the time that a worker waits for new orders before it looks for dead workers.
	idleFor = 100 * time.Millisecond
)

// crew holds the workers of one consumer group.
type crew struct {
	options Options
	sale    *sale
	ledger  *ledger
	count   *counter
	// soldOut is set when no order will come any more.
	soldOut atomic.Bool
	// The worker that takes an order after the first victimAfter orders is killed.
	victimAfter int64
	handed      atomic.Int64 // orders that workers have taken
	victim      atomic.Pointer[death]
	onDeath     func(death)
	redelivered atomic.Int64
}

// death describes the worker that was killed.
type death struct {
	worker  string
	written int // orders that it had written and not acknowledged
	pending int // orders that it had not acknowledged, including the written ones
}

func newCrew(o Options, s *sale, count *counter, onDeath func(death)) *crew {
	return &crew{options: o, sale: s, ledger: newLedger(), count: count, victimAfter: int64(min(o.Stock, o.Users) / 3), onDeath: onDeath}
}

// work runs the workers until every order is written and acknowledged.
func (w *crew) work(ctx context.Context) error {
	return together(ctx, w.options.Workers, func(ctx context.Context, i int) error {
		c, err := connect(ctx, w.options)
		if err != nil {
			return err
		}
		defer c.close()
		name := fmt.Sprintf("worker-%d", i+1)
		if err := (&worker{crew: w, name: name, c: c}).run(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// chooses reports whether the worker that has taken a batch is the worker to kill.
func (w *crew) chooses(d death) bool {
	return w.handed.Add(int64(d.pending)) > w.victimAfter && w.victim.CompareAndSwap(nil, &d)
}
