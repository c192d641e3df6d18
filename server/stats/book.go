// Package stats keeps what an operator asks for later: the commands that took long, events that did, and how
// the calls of commands are spread over time. Its commands are SLOWLOG, COMMANDLOG and LATENCY.
//
// It owns the bounds of what is kept, and how that is shown. It must not know a session, an executor, the
// directives or a clock: times and bounds are handed in, and who keeps something says what it is of. Nothing
// here locks; its owner does.
//
// To add a statistic: a file with a plain type whose zero value is ready for use, and a field in Book. To add
// a command, write its row and its handler, a method of Book if it needs one, in a file that ends in _cmd.go.
package stats

import "lockserver/commands"

// Book is everything that a server keeps for its operator. The zero value keeps neither slow commands nor
// events; Commands needs a place for each row of the table.
type Book struct {
	Slow     SlowLog
	Requests SlowLog // the large ones
	Replies  SlowLog
	Events   Events
	Errors   Errors
	Traffic  Traffic
	Rates    Rates // of Traffic and of commands
	Buffers  Buffers
	Commands []Command // by commands.Row.Index()
	Tracking bool      // latency-tracking: how calls are spread over time is told
	// Percentiles are those that INFO tells of it.
	Percentiles []Percentile
	Waits       SlowLog // waits for locks that took long
	Pauses      Pauses
	Held        Held
	locks       map[int]*Locks
}

// ForgetCounts sets all that is counted to zero.
func (b *Book) ForgetCounts() {
	clear(b.Commands)
	b.Errors, b.Traffic, b.Rates = Errors{}, Traffic{}, Rates{}
	b.locks = nil
}

// ForgetLogs forgets what took long, or was large, and when.
func (b *Book) ForgetLogs() {
	for _, l := range []*SlowLog{&b.Slow, &b.Requests, &b.Replies, &b.Waits} {
		l.Reset()
	}
	b.Events.Reset()
}

// handler is a command of this package.
type handler func(b *Book, c *commands.Ctx) error

// binding makes a handler into what a row runs.
type binding func(h handler) func(c *commands.Ctx) error

// Rows are the commands about what took long. bookOf finds the book of the server that runs one.
func Rows(bookOf func(c *commands.Ctx) *Book) []commands.Row {
	on := func(h handler) func(c *commands.Ctx) error {
		return func(c *commands.Ctx) error { return h(bookOf(c), c) }
	}
	return []commands.Row{slowlogRow(on), commandlogRow(on), latencyRow(on)}
}
