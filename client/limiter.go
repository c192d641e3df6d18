package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Rate is the rate that a [Limiter] allows: Count units in each Period, and Burst at once. In any stretch of
// time no more is allowed than Burst and the units that come back in that time.
type Rate struct {
	Burst, Count int
	Period       time.Duration // whole milliseconds
}

// Limiter allows a number of calls in a period, over all machines, by the server's clock.
type Limiter struct {
	client *Client
	key    string
	rate   Rate
}

// Limiter returns the limiter at key. Use one key for each user, address or interface. Nothing is sent and
// nothing has to be set up. The key expires when the limiter is full.
func (c *Client) Limiter(key string, rate Rate) Limiter { return Limiter{c, key, rate} }

// Taken is the reply of a limiter.
type Taken struct {
	Allowed   bool // the units are taken
	Limit     int  // the burst
	Remaining int  // units that could be taken now
	// RetryAfter is the time after which the cost could be taken; 0 if it was allowed. ResetAfter is the time
	// after which the limiter is full.
	RetryAfter, ResetAfter time.Duration
}

// takenNumbers is the number of integers in the server's reply.
const takenNumbers = 5

// Take takes one unit, or cost units, if the rate allows it now. A cost of 0 takes nothing and returns the
// state. It is sent once, over the client's own connection: after an error of the connection the cost may
// have been taken or not. It returns at the end of ctx, and within [Timeout] in any case.
func (l Limiter) Take(ctx context.Context, cost ...int) (Taken, error) {
	words, err := l.words(cost)
	if err != nil {
		return Taken{}, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.client.limit, ErrNoAnswer)
	defer cancel()
	reply, err := l.client.keeper.sendOnce(limited, append([]string{"LIMIT.TAKE", l.key}, words...))
	if err != nil {
		return Taken{}, replied(err)
	}
	return taken(tokensOf(reply))
}

// Wait takes one unit, or cost units, and waits for them as long as ctx allows: first come, first served. If
// the connection breaks it asks again and keeps its place in the queue. If the answer was lost it takes the
// cost once more. Its errors are those of [Client.Lock]. If an operator has ended the wait, the error is
// [ErrNotAcquired].
func (l Limiter) Wait(ctx context.Context, cost ...int) (Taken, error) {
	words, err := l.words(cost)
	if err != nil {
		return Taken{}, err
	}
	k := l.client.keeper
	if ctx.Err() != nil {
		return Taken{}, ended(ctx)
	}
	if !k.enter() {
		return Taken{}, ErrClosed
	}
	defer k.calls.Done()
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(k.leaving, func() { cancel(ErrClosed) })()
	t, w := l.client.newTask(), wish{keys: []string{l.key}, rate: words}
	o := k.request(limited, t, w)
	switch {
	case o.err == nil:
		return taken(o.tokens)
	case o.doubtful:
		k.mustSend(w.undo(t.owner), nil)
	}
	if errors.Is(o.err, ErrNotAcquired) {
		o.err = notAcquired(limited)
	}
	return Taken{}, o.err
}

// words returns the words of LIMIT.TAKE after the key.
func (l Limiter) words(cost []int) ([]string, error) {
	period, wrong := wholeMS("a period", l.rate.Period)
	units, odd := one("a cost", 0, 1, cost)
	if err := cmp.Or(named("a key", l.key), atLeast(1, "a burst", l.rate.Burst), atLeast(1, "a count", l.rate.Count), wrong, odd); err != nil {
		return nil, err
	}
	if units > l.rate.Burst {
		return nil, bad("a cost of %d is more than the burst of %d", units, l.rate.Burst)
	}
	words := []string{strconv.Itoa(l.rate.Burst), strconv.Itoa(l.rate.Count), decimal(period)}
	if units != 1 {
		words = append(words, "COST", strconv.Itoa(units))
	}
	return words, nil
}

// taken reads the numbers of a reply.
func taken(numbers []int64) (Taken, error) {
	if len(numbers) != takenNumbers {
		return Taken{}, fmt.Errorf("LIMIT.TAKE: the reply has %d numbers, not %d", len(numbers), takenNumbers)
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return Taken{numbers[0] == 1, int(numbers[1]), int(numbers[2]), ms(numbers[3]), ms(numbers[4])}, nil
}
