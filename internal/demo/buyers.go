package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The answers of SECKILL.
const (
	answerSold = iota
	answerNoStock
	answerHasBought
	answerNotStarted
	answerOver
	answerTakenBack
	answerKinds
)

// selling is the result that the buyers have seen.
type selling struct {
	answers      [answerKinds]int
	latencies    []time.Duration // of every answered request, in rising order
	elapsed      time.Duration   // from the first request to the last answer
	answeredSold map[int32]bool  // users with the answer that they have bought a piece
	lost         map[int32]bool  // users who did not receive the answer to their first request
	resent       int             // requests that were sent again although they had been answered
	sameAgain    int             // requests among resent with the same answer as before
}

// counter holds the numbers that the progress shows while buyers and workers are running.
type counter struct{ answered, sold, written atomic.Int64 }

// buyer is one connection. Users send their requests over it one after the other.
type buyer struct {
	selling
	options Options
	sale    *sale
	count   *counter
	c       *conn
}

// sell runs the requests of all users. Options limits the connections at a time.
func sell(ctx context.Context, o Options, s *sale, list []request, count *counter) (*selling, error) {
	buyers := make([]*buyer, min(o.Connections, len(list)))
	defer func() {
		for _, b := range buyers {
			if b != nil {
				b.c.close()
			}
		}
	}()
	for i := range buyers {
		c, err := connect(ctx, o)
		if err != nil {
			return nil, err
		}
		buyers[i] = &buyer{options: o, sale: s, count: count, c: c}
		buyers[i].answeredSold, buyers[i].lost = make(map[int32]bool), make(map[int32]bool)
	}
	began := time.Now()
	var next atomic.Int64
	err := together(ctx, len(buyers), func(ctx context.Context, i int) error {
		for ctx.Err() == nil {
			n := int(next.Add(1)) - 1
			if n >= len(list) {
				return nil
			}
			if err := buyers[i].serve(ctx, list[n]); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, err
	}
	return merge(buyers, time.Since(began)), nil
}

// serve sends the request of one user, and repeats it as the user's habit says.
func (b *buyer) serve(ctx context.Context, r request) error {
	if r.habit == losesAnswer {
		// It is left open whether the server sees the sent request, as in real life.
		if err := b.c.send("SECKILL", b.sale.voucher, r.name(), r.order()); err != nil {
			return err
		}
		b.c.close()
		b.lost[r.user] = true
		c, err := connect(ctx, b.options)
		if err != nil {
			return err
		}
		b.c = c
	}
	first, err := b.ask(r)
	if err != nil || r.habit != resends {
		return err
	}
	again, err := b.ask(r)
	b.resent++
	if again == first {
		b.sameAgain++
	}
	return err
}

// ask places an order and records the answer.
func (b *buyer) ask(r request) (int64, error) {
	began := time.Now()
	answer, err := b.c.integer("SECKILL", b.sale.voucher, r.name(), r.order())
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if answer < 0 || answer >= answerKinds {
		return 0, fmt.Errorf("SECKILL answered %d", answer)
	}
	b.latencies = append(b.latencies, took)
	b.answers[answer]++
	if answer == answerSold && !b.answeredSold[r.user] {
		b.answeredSold[r.user] = true
		b.count.sold.Add(1)
	}
	b.count.answered.Add(1)
	return answer, nil
}

// merge combines the results of all buyers.
func merge(buyers []*buyer, elapsed time.Duration) *selling {
	all := &selling{elapsed: elapsed, answeredSold: make(map[int32]bool), lost: make(map[int32]bool)}
	for _, b := range buyers {
		for kind, n := range b.answers {
			all.answers[kind] += n
		}
		for user := range b.answeredSold {
			all.answeredSold[user] = true
		}
		for user := range b.lost {
			all.lost[user] = true
		}
		all.latencies = append(all.latencies, b.latencies...)
		all.resent += b.resent
		all.sameAgain += b.sameAgain
	}
	slices.Sort(all.latencies)
	return all
}

// together runs work for 0 to n-1 at the same time. The first error cancels the context of the others and is
// returned.
func together(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make(chan error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := work(ctx, i); err != nil {
				errs <- err
				cancel(err)
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs // nil if no work failed
}
