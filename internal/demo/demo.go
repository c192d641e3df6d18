package demo

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Run plays the sale and returns its result. It returns an error if the sale could not be completed. That is
// so if an option is out of bounds, the server cannot be reached or has no sales, a key of the sale already
// exists, or the context ended. Failed checks are not an error; they are in the Result. The keys of the sale
// are always removed, unless an option keeps them.
func Run(ctx context.Context, o Options) (r *Result, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	s, err := newSale(c, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove(ctx, o)) }()
	if err := s.open(c, o.Stock); err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Out, "%s pieces for %s users, %s at a time; %s workers; seed %d\nserver: %s\n\n", commas(o.Stock), commas(o.Users),
		commas(o.Connections), commas(o.Workers), o.Seed, o.Server)
	st := &story{options: o, sale: s, show: &progress{out: o.Out, live: o.Live}}
	st.crew = newCrew(o, s, &st.count, func(d death) {
		st.show.say("killed    %s, with %s orders in its hands: %s of them written, none acknowledged", d.worker,
			commas(d.pending), commas(d.written))
	})
	sold, err := st.play(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	f, err := look(c, s, st.crew, sold)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return &Result{Checks: f.checks(), selling: sold, orders: len(f.orders), repeats: st.crew.ledger.repeats,
		taken: f.takenOver}, nil
}

// story is the state of a running sale.
type story struct {
	options Options
	sale    *sale
	crew    *crew
	count   counter
	show    *progress
}

// play lets the buyers buy while the workers work, and waits until the workers are done.
func (st *story) play(ctx context.Context) (*selling, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	drained := make(chan error, 1)
	go func() {
		err := st.crew.work(ctx)
		if err != nil {
			cancel(err) // without workers the orders would stay undelivered, so end the sale
		}
		drained <- err
	}()
	sold, err := st.sell(ctx)
	if err != nil {
		cancel(err)
		<-drained
		return nil, cause(ctx, err)
	}
	st.crew.soldOut.Store(true)
	return sold, st.drain(ctx, cancel, drained)
}

// sell runs the buyers.
func (st *story) sell(ctx context.Context) (*selling, error) {
	list := plan(st.options)
	total := requests(list)
	end := st.show.watch(stage{label: "selling", total: total, done: func() int { return int(st.count.answered.Load()) },
		detail: func() string {
			return fmt.Sprintf("%s sold, %s in the ledger", commas(int(st.count.sold.Load())), commas(int(st.count.written.Load())))
		}})
	defer end()
	return sell(ctx, st.options, st.sale, list, &st.count)
}

// drain waits for the workers. The time limit grows with the number of orders.
func (st *story) drain(ctx context.Context, cancel context.CancelCauseFunc, drained <-chan error) error {
	total := min(st.options.Stock, st.options.Users)
	limit := patience + time.Duration(total/batchSize+1)*10*commitTime
	slow := time.AfterFunc(limit, func() {
		cancel(fmt.Errorf("after %s not every order was drained", limit))
	})
	defer slow.Stop()
	end := st.show.watch(stage{label: "draining", total: total, done: func() int { return int(st.count.written.Load()) },
		detail: func() string {
			return fmt.Sprintf("%s of %s orders in the ledger", commas(int(st.count.written.Load())), commas(total))
		}})
	defer end()
	return cause(ctx, <-drained)
}
