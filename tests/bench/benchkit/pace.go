package benchkit

import (
	"context"
	"slices"
	"time"
)

// Rest waits, unless ctx ends.
func Rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// StartDelay is a pause before the clocks are read. In it the system finishes the work of the set-up, such as
// closing connections.
const StartDelay = 100 * time.Millisecond

// Oversleep returns the largest delay of a short sleep until ctx ends: the part of a latency that the machine
// adds, not a server.
func Oversleep(ctx context.Context) time.Duration {
	return slices.Max(append(Oversleeps(ctx), 0))
}

// Oversleeps returns the delay of each of many consecutive short sleeps until ctx ends.
func Oversleeps(ctx context.Context) (each []time.Duration) {
	const nap = time.Millisecond
	for ctx.Err() == nil {
		begun := time.Now()
		time.Sleep(nap)
		each = append(each, time.Since(begun)-nap)
	}
	return each
}

// Pace spreads a rate evenly over clients and time.
type Pace struct {
	Interval time.Duration // between two requests of one client
	Stagger  time.Duration // between a request of one client and that of the next
	Count    int           // requests of one client
}

// NewPace returns the pace of rate requests a second for the span, on the given number of clients.
func NewPace(rate, clients int, span time.Duration) Pace {
	interval := time.Duration(clients) * time.Second / time.Duration(rate)
	return Pace{interval, interval / time.Duration(clients), max(1, int(span/interval))}
}

// Due returns the time since the start at which client i must send its request k.
func (p Pace) Due(i, k int) time.Duration {
	return time.Duration(i)*p.Stagger + time.Duration(k)*p.Interval
}

// FixedRate sends traffic at a fixed rate (requests a second) for the span, one request at a time on each
// connection, and returns the sorted latencies. If a request was late because the reply to the previous one
// was missing, its latency counts from its due time. If only the generator's sleep was late, it does not.
func (f *Fleet) FixedRate(ctx context.Context, t Traffic, rate int, span time.Duration) ([]time.Duration, error) {
	p := NewPace(rate, len(f.Conns), span)
	latencies := make([][]time.Duration, len(f.Conns))
	for i := range latencies {
		latencies[i] = make([]time.Duration, 0, p.Count)
	}
	begun := time.Now().Add(StartDelay)
	err := f.Each(ctx, func(i int, c *Conn) error {
		if err := c.SetDeadline(begun.Add(span + Patience)); err != nil {
			return err
		}
		out := make([]byte, 0, 256)
		answered := begun
		for k := range p.Count {
			due := begun.Add(p.Due(i, k))
			time.Sleep(time.Until(due))
			from := time.Now()
			if answered.After(due) {
				from = due
			}
			n := i*p.Count + k
			out = t.Append(out[:0], n)
			if err := c.Write(out); err != nil {
				return err
			}
			if err := c.Expect(t.Want(n)); err != nil {
				return err
			}
			answered = time.Now()
			latencies[i] = append(latencies[i], answered.Sub(from))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return Sorted(latencies), nil
}
