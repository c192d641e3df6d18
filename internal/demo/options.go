package demo

import (
	"context"
	"fmt"
	"io"
	"net"
)

// Dialer opens a connection to the server.
type Dialer func(ctx context.Context) (net.Conn, error)

// Options say what is played. Defaults has the usual ones.
type Options struct {
	// Dial reaches the server, Password, if any, is what it asks for, and Server is
	// what the heading calls it.
	Dial     Dialer
	Password string
	Server   string
	// Name is the voucher that is sold. All keys of the sale have it in their names,
	// and none of them may exist.
	Name string

	// Stock is how many pieces there are, Users how many people want one.
	Stock, Users int
	// Connections is how many of them are served at a time.
	Connections int
	// Workers is how many drain the stream of orders; one of them is killed.
	Workers int
	// Seed decides who asks what, and in which order.
	Seed uint64
	// Keep leaves the keys of the sale on the server.
	Keep bool

	// Out takes the progress; Live redraws a line of a terminal instead of printing one
	// at each quarter of the way.
	Out  io.Writer
	Live bool
}

// Defaults are the options of the story in its usual form.
func Defaults() Options {
	return Options{Stock: 1_000, Users: 20_000, Connections: 50, Workers: 4, Seed: 1, Out: io.Discard}
}

// The most that can be asked for. Every request's latency is kept, and every order is held in memory.
const (
	maxStock       = 1_000_000
	maxUsers       = 5_000_000
	maxConnections = 1_000
	maxWorkers     = 64
)

// Validate says which option is out of its bounds, by the name of its flag.
func (o Options) Validate() error {
	for _, n := range []struct {
		flag             string
		value, low, high int
	}{
		{"--stock", o.Stock, 1, maxStock},
		{"--users", o.Users, 1, maxUsers},
		{"--connections", o.Connections, 1, maxConnections},
		{"--workers", o.Workers, 2, maxWorkers}, // one is killed, and another one takes over
	} {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s must be between %d and %d, not %d", n.flag, n.low, n.high, n.value)
		}
	}
	return nil
}
