package demo

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Dialer opens a connection to the server.
type Dialer func(ctx context.Context) (net.Conn, error)

// Options describes a sale. Defaults returns the usual options.
type Options struct {
	// Dial connects to the server. Password is the password to log in with, if it is not empty. Server is the
	// name of the server in the heading.
	Dial     Dialer
	Password string
	Server   string
	// Name is the voucher for sale. All keys of the sale contain it, and none of these keys may exist.
	Name string

	// Stock is the number of pieces, Users the number of people who want a piece.
	Stock, Users int
	// Connections is the number of users served at the same time.
	Connections int
	// Workers is the number of workers that drain the stream of orders; one of them is killed.
	Workers int
	// Seed determines the requests and their order.
	Seed uint64
	// Keep leaves the keys of the sale on the server.
	Keep bool

	// Out receives the progress. Live redraws a line of a terminal; otherwise each quarter of the way is a
	// line.
	Out  io.Writer
	Live bool
}

// Defaults returns the usual options.
func Defaults() Options {
	return Options{Stock: 1_000, Users: 20_000, Connections: 50, Workers: 4, Seed: 1, Out: io.Discard}
}

// Upper limits of the options. Every latency is kept, and every order is in memory.
const (
	maxStock       = 1_000_000
	maxUsers       = 5_000_000
	maxConnections = 1_000
	maxWorkers     = 64
)

// Validate returns an error with the flag of the first option that is out of bounds.
func (o Options) Validate() error {
	for _, n := range []struct {
		flag             string
		value, low, high int
	}{
		{"--stock", o.Stock, 1, maxStock},
		{"--users", o.Users, 1, maxUsers},
		{"--connections", o.Connections, 1, maxConnections},
		{"--workers", o.Workers, 2, maxWorkers}, // one worker is killed, and another takes over
	} {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s must be between %d and %d, not %d", n.flag, n.low, n.high, n.value)
		}
	}
	return nil
}
