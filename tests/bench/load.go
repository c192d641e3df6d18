package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// clients is how many connections every load keeps busy.
const clients = 50

// value is what keys are set to: 64 bytes, all of them different, so that neither server's snapshot compresses it.
const value = "k7QxZ2mB-vR9sLdW0aTfYh4JgNcE_pU8iOy3KwXbM6GqSzHt5VnCrDlAeFjI1uPo"

const valueBytes = len(value)

// traffic is what our own generator sends: what redis-benchmark cannot, because it draws every argument anew and
// cannot alternate commands. Request n is a function of n alone, so both servers get the same.
type traffic struct {
	append func(b []byte, n int) []byte
	want   func(n int) string // how the reply to request n begins
}

// always is the want of traffic whose replies all begin the same.
func always(want string) func(int) string { return func(int) string { return want } }

// scatter maps 0 .. total-1 onto itself, so that every number comes once but neighbours lie apart. The factor is a
// prime, so that it is a bijection for every total below it.
func scatter(n, total int) int { return int(uint64(n) * 2654435761 % uint64(total)) }

// split is how many requests each of n connections sends: a whole number of pipelines of pairs, at least one.
func split(requests, n, pipeline int) int {
	unit := pipeline
	if unit%2 == 1 {
		unit *= 2
	}
	return max(1, requests/n/unit) * unit
}

// fleet is a set of open connections.
type fleet struct {
	conns []*conn
}

// dialFleet opens n connections to the server.
func dialFleet(addr string, n int) (*fleet, error) {
	f := &fleet{conns: make([]*conn, 0, n)}
	for range n {
		c, err := dial(addr)
		if err != nil {
			f.close()
			return nil, err
		}
		f.conns = append(f.conns, c)
	}
	return f, nil
}

func (f *fleet) close() {
	for _, c := range f.conns {
		c.close()
	}
}

// each runs work on all connections at once and returns the first error. A context that ends breaks the connections.
func (f *fleet) each(ctx context.Context, work func(i int, c *conn) error) error {
	errs := make([]error, len(f.conns))
	stop := context.AfterFunc(ctx, f.close)
	defer stop()
	var wg sync.WaitGroup
	for i, c := range f.conns {
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

// send sends about the given number of requests, in pipelines, as fast as the replies come; connection i sends its
// own stretch of the numbers. It returns how many that were.
func (f *fleet) send(ctx context.Context, t traffic, requests, pipeline int) (int, error) {
	per := split(requests, len(f.conns), pipeline)
	deadline := time.Now().Add(10 * patience)
	err := f.each(ctx, func(i int, c *conn) error {
		if err := c.c.SetDeadline(deadline); err != nil {
			return err
		}
		var out []byte
		for n := i * per; n < (i+1)*per; n += pipeline {
			out = out[:0]
			for k := range pipeline {
				out = t.append(out, n+k)
			}
			if _, err := c.c.Write(out); err != nil {
				return err
			}
			for k := range pipeline {
				if err := expect(c.r, t.want(n+k)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return per * len(f.conns), err
}

// fill sends traffic on connections of its own, for set-up, and returns how many requests that were.
func (s *server) fill(ctx context.Context, t traffic, requests int) (int, error) {
	f, err := dialFleet(s.addr, 10)
	if err != nil {
		return 0, err
	}
	defer f.close()
	n, err := f.send(ctx, t, requests, 100)
	if err != nil {
		err = fmt.Errorf("%s: fill: %w", s.name, err)
	}
	return n, err
}

// setKeys sets key:000000000000 and on, 16 bytes each, to values of 64 bytes.
func setKeys() traffic {
	return traffic{want: always("+OK"), append: func(b []byte, n int) []byte {
		return appendBulk(appendNumbered(appendBulk(appendArray(b, 3), "SET"), "key:", n, ""), value)
	}}
}

// run has redis-benchmark send a command and returns its requests per second. keys is the range of __rand_int__.
func (t tools) run(ctx context.Context, s *server, command []string, requests, pipeline, keys int) (float64, error) {
	args := []string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-c", strconv.Itoa(clients),
		"-n", strconv.Itoa(requests), "-P", strconv.Itoa(pipeline), "-r", strconv.Itoa(keys), "--csv"}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, t.benchmark, append(args, command...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("redis-benchmark %s: %w: %s", command[0], err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return parseBenchmark(stdout.String())
}

// parseBenchmark takes the requests per second from what redis-benchmark --csv prints.
func parseBenchmark(out string) (float64, error) {
	r := csv.NewReader(strings.NewReader(out))
	r.FieldsPerRecord = -1
	r.LazyQuotes = true // it does not escape quotes in a command
	rows, err := r.ReadAll()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark printed %q: %w", out, err)
	}
	for i, row := range rows {
		if i > 0 && len(rows[i-1]) > 1 && rows[i-1][1] == "rps" && len(row) > 1 {
			return strconv.ParseFloat(row[1], 64)
		}
	}
	return 0, errors.New("redis-benchmark printed no requests per second: " + out)
}
