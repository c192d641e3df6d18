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

// Take takes one unit, or cost units, if the rate allows it now. A cost of 0 takes nothing and returns the
// state. It is sent once, over the client's own connection: after an error of the connection the cost may
// have been taken or not. It returns at the end of ctx, and within [Timeout] in any case.
func (l Limiter) Take(ctx context.Context, cost ...int) (Taken, error) {
	words, err := l.words("LIMIT.TAKE", cost)
	if err != nil {
		return Taken{}, err
	}
	return taken(l.client.takeOnce(ctx, l.key, words))
}

// Give gives one unit back, or cost units, for a call that was not made. The limiter is never more than full.
// The calls that wait get the units, first come, first served. Give is sent once, as [Limiter.Take] is: after
// an error of the connection the units may have been given back or not.
func (l Limiter) Give(ctx context.Context, cost ...int) (Taken, error) {
	words, err := l.words("LIMIT.GIVE", cost)
	if err != nil {
		return Taken{}, err
	}
	return taken(l.client.takeOnce(ctx, l.key, words))
}

// Wait takes one unit, or cost units, and waits for them as long as ctx allows: first come, first served. If
// the connection breaks it asks again and keeps its place in the queue. If the answer was lost it takes the
// cost once more. Its errors are those of [Client.Lock]. If an operator has ended the wait, the error is
// [ErrNotAcquired].
func (l Limiter) Wait(ctx context.Context, cost ...int) (Taken, error) {
	words, err := l.words("LIMIT.TAKE", cost)
	if err != nil {
		return Taken{}, err
	}
	return taken(l.client.takeWaiting(ctx, wish{keys: []string{l.key}, rate: words}))
}

// takeOnce sends a command of limiters once, and returns the numbers of the reply. key is that of the first
// one.
func (c *Client) takeOnce(ctx context.Context, key string, words []string) ([]int64, error) {
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, ErrNoAnswer)
	defer cancel()
	reply, err := c.keeper.sendOnce(limited, key, words)
	if err != nil {
		return nil, replied(err)
	}
	numbers := tokensOf(reply)
	if len(numbers) != takenNumbers {
		return nil, fmt.Errorf("%s: the reply is %v, and not %d numbers", words[0], reply, takenNumbers)
	}
	return numbers, nil
}

// takeWaiting waits for the units of limiters, and returns the numbers of the reply.
func (c *Client) takeWaiting(ctx context.Context, w wish) ([]int64, error) {
	k := c.keeper
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if !k.enter() {
		return nil, ErrClosed
	}
	defer k.calls.Done()
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(k.leaving, func() { cancel(ErrClosed) })()
	t := c.newTask()
	o := k.request(limited, t, w)
	switch {
	case o.err == nil && len(o.tokens) == takenNumbers:
		return o.tokens, nil
	case o.err == nil:
		return nil, fmt.Errorf("%s: the reply has %d numbers, not %d", w.rate[0], len(o.tokens), takenNumbers)
	case o.doubtful:
		o.shard.mustSend(w.keys[0], w.undo(t.owner), nil)
	}
	if errors.Is(o.err, ErrNotAcquired) {
		o.err = notAcquired(limited)
	}
	return nil, o.err
}

// words returns a command with the limiter's key and rate, and the cost.
func (l Limiter) words(command string, cost []int) ([]string, error) {
	units, err := l.check(cost)
	if err != nil {
		return nil, err
	}
	return withCost(append([]string{command}, l.terms()...), units), nil
}

// check refuses a rate that is not allowed, and a cost that it never allows. It returns the cost.
func (l Limiter) check(cost []int) (units int, err error) {
	_, wrong := wholeMS("a period", l.rate.Period)
	units, odd := one("a cost", 0, 1, cost)
	if err := cmp.Or(named("a key", l.key), atLeast(1, "a burst", l.rate.Burst), atLeast(1, "a count", l.rate.Count), wrong, odd); err != nil {
		return 0, err
	}
	if units > l.rate.Burst {
		return 0, bad("a cost of %d is more than the burst of %d", units, l.rate.Burst)
	}
	return units, nil
}

// terms returns the key and the rate, in the words of the server.
func (l Limiter) terms() []string {
	return []string{l.key, strconv.Itoa(l.rate.Burst), strconv.Itoa(l.rate.Count), decimal(l.rate.Period.Milliseconds())}
}

// withCost adds the cost to a command; 1 is the server's default.
func withCost(words []string, units int) []string {
	if units != 1 {
		words = append(words, "COST", strconv.Itoa(units))
	}
	return words
}

// taken converts the numbers of a reply.
func taken(numbers []int64, err error) (Taken, error) {
	if err != nil {
		return Taken{}, err
	}
	return Taken{numbers[0] == 1, int(numbers[1]), int(numbers[2]), inMS(numbers[3]), inMS(numbers[4])}, nil
}

// inMS returns a number of milliseconds as a time.
func inMS(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
