package benchkit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Traffic is what the generator sends. Request n is a function of n alone, so all servers get the same.
type Traffic struct {
	Append func(b []byte, n int) []byte // appends request n
	Want   func(n int) string           // how the reply to request n begins
	Lead   int                          // replies that come before it, each a status: those of a transaction's commands
}

// Always is the Want of traffic with replies that all begin the same.
func Always(want string) func(int) string { return func(int) string { return want } }

// Scatter maps 0 .. total-1 onto itself, so that every number comes once but neighbours lie apart. The factor
// is a prime, so that it is a bijection for every total below it.
func Scatter(n, total int) int { return int(uint64(n) * 2654435761 % uint64(total)) }

// Split is how many requests each of n connections sends: a whole number of pipelines of pairs, at least one.
func Split(requests, n, pipeline int) int {
	unit := pipeline
	if unit%2 == 1 {
		unit *= 2
	}
	return max(1, requests/n/unit) * unit
}

// Fleet is a set of open connections.
type Fleet struct {
	Conns []*Conn
}

// DialFleet opens n connections to the server at addr.
func DialFleet(addr string, n int) (*Fleet, error) {
	f := &Fleet{Conns: make([]*Conn, 0, n)}
	for range n {
		c, err := Dial(addr)
		if err != nil {
			f.Close()
			return nil, err
		}
		f.Conns = append(f.Conns, c)
	}
	return f, nil
}

// Close ends all connections.
func (f *Fleet) Close() {
	for _, c := range f.Conns {
		c.Close()
	}
}

// Each runs work on all connections at once and returns the first error. A context that
// ends breaks the connections.
func (f *Fleet) Each(ctx context.Context, work func(i int, c *Conn) error) error {
	errs := make([]error, len(f.Conns))
	stop := context.AfterFunc(ctx, f.Close)
	defer stop()
	var wg sync.WaitGroup
	for i, c := range f.Conns {
		wg.Go(func() { errs[i] = work(i, c) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Send sends about the given number of requests, in pipelines, as fast as the replies come; connection i
// sends its own stretch of the numbers. It returns how many that were.
func (f *Fleet) Send(ctx context.Context, t Traffic, requests, pipeline int) (int, error) {
	per := Split(requests, len(f.Conns), pipeline)
	deadline := time.Now().Add(10 * Patience)
	err := f.Each(ctx, func(i int, c *Conn) error {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
		var out []byte
		for n := i * per; n < (i+1)*per; n += pipeline {
			out = out[:0]
			for k := range pipeline {
				out = t.Append(out, n+k)
			}
			if err := c.Write(out); err != nil {
				return err
			}
			for k := range pipeline {
				for range t.Lead {
					if err := c.Expect("+"); err != nil {
						return err
					}
				}
				if err := c.Expect(t.Want(n + k)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return per * len(f.Conns), err
}

// Fill sends traffic on connections of its own, for set-up, and returns how many requests that were.
func (s *Server) Fill(ctx context.Context, t Traffic, requests int) (int, error) {
	f, err := DialFleet(s.Addr, 10)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.Send(ctx, t, requests, 100)
	if err != nil {
		err = fmt.Errorf("%s: fill: %w", s.Name, err)
	}
	return n, err
}
