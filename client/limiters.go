package client

import (
	"cmp"
	"context"
	"strconv"
	"time"
)

// mostLimiters is how many limiters one call may name on the server.
const mostLimiters = 64

// TakenAll is the reply of several limiters.
type TakenAll struct {
	Allowed   bool // the units are taken from all limiters
	RefusedBy int  // the place of the first limiter that refuses, from 1; 0: none refuses
	Remaining int  // units that all could give now: the least of all limiters
	// RetryAfter is the time after which all could give the cost; 0 if it was allowed. ResetAfter is the time
	// after which all are full.
	RetryAfter, ResetAfter time.Duration
}

// TakeLimits takes one unit, or cost units, from each of the limiters in one step: from all of them or from
// none. So a call that one limiter refuses costs nothing at the others. There may be 64 limiters, each with a
// key of its own. In a cluster the keys share a slot ([ErrCrossSlot]).
//
// It is sent once, as [Limiter.Take] is, and ends as that does. A cost of 0 takes nothing and returns the
// state.
func (c *Client) TakeLimits(ctx context.Context, limiters []Limiter, cost ...int) (TakenAll, error) {
	w, err := c.manyLimits(limiters, cost)
	if err != nil {
		return TakenAll{}, err
	}
	return takenAll(c.takeOnce(ctx, w.keys[0], w.rate))
}

// WaitLimits is [Client.TakeLimits] that waits for the units as long as ctx allows. It has a place in the
// queue of each limiter, and takes from none before all allow it. So two such calls cannot wait for each
// other. A lost answer and the errors are as with [Limiter.Wait].
func (c *Client) WaitLimits(ctx context.Context, limiters []Limiter, cost ...int) (TakenAll, error) {
	w, err := c.manyLimits(limiters, cost)
	if err != nil {
		return TakenAll{}, err
	}
	return takenAll(c.takeWaiting(ctx, w))
}

// manyLimits returns what a call for several limiters asks for.
func (c *Client) manyLimits(limiters []Limiter, cost []int) (w wish, err error) {
	if len(limiters) == 0 || len(limiters) > mostLimiters {
		return wish{}, bad("%d limiters, and not 1 to %d", len(limiters), mostLimiters)
	}
	words, units := []string{"LIMIT.MTAKE", strconv.Itoa(len(limiters))}, 0
	named := make(map[string]bool, len(limiters))
	for _, l := range limiters {
		var foreign, twice error
		if l.client != c {
			foreign = bad("the limiter %q is of another client", l.key)
		}
		if named[l.key] {
			twice = bad("the limiter %q is named twice", l.key)
		}
		n, wrong := l.check(cost)
		if err := cmp.Or(foreign, wrong, twice); err != nil {
			return wish{}, err
		}
		named[l.key], units = true, n
		words, w.keys = append(words, l.terms()...), append(w.keys, l.key)
	}
	w.rate = withCost(words, units)
	return w, nil
}

// takenAll converts the numbers of a reply.
func takenAll(numbers []int64, err error) (TakenAll, error) {
	if err != nil {
		return TakenAll{}, err
	}
	return TakenAll{numbers[0] == 1, int(numbers[1]), int(numbers[2]), inMS(numbers[3]), inMS(numbers[4])}, nil
}
