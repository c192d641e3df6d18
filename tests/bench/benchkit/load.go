package benchkit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Traffic describes the requests of the generator. Request n depends on n alone, so all servers get the same
// requests.
type Traffic struct {
	Append func(b []byte, n int) []byte // appends request n
	Want   func(n int) string           // the beginning of the reply to request n
	Lead   int                          // number of replies before it, each a status: those of a transaction's commands
}

// Always returns a Want for replies that all begin the same.
func Always(want string) func(int) string { return func(int) string { return want } }

// Scatter maps 0 .. total-1 to itself, so that every number comes once but neighbours are far apart. The
// factor is a prime, so the map is a bijection for every smaller total.
func Scatter(n, total int) int { return int(uint64(n) * 2654435761 % uint64(total)) }

// Split returns the number of requests for each of n connections: a multiple of two pipelines, at least one
// such pair.
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

// Close closes all connections.
func (f *Fleet) Close() {
	for _, c := range f.Conns {
		c.Close()
	}
}

// Each runs work on all connections at the same time and returns the first error. When ctx ends the
// connections break.
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
// sends its own range of the numbers. It returns the number of requests.
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

// Fill sends traffic on new connections, for a set-up, and returns the number of requests.
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
