// Package stats keeps what an operator asks for later: slow commands, slow events, and how the calls of
// commands are spread over time. Its commands are SLOWLOG, COMMANDLOG and LATENCY.
//
// It owns the bounds of what is kept, and how that is shown. It must not know a session, an executor, the
// directives or a clock: the caller passes times and bounds, and says what a time belongs to. Nothing here
// locks; its owner does.
//
// To add a statistic: a file with a plain type that is ready for use as its zero value, and a field in Book.
// To add a command, write its row and its handler, a method of Book if it needs one, in a file that ends in
// _cmd.go.
package stats

import "lockserver/commands"

// Book is everything that a server keeps for its operator. The zero value keeps neither slow commands nor
// events; Size must be set.
type Book struct {
	Slow     SlowLog
	Requests SlowLog // the large ones
	Replies  SlowLog
	Events   Events
	Errors   Errors
	Traffic  Traffic
	Rates    Rates // of Traffic and of commands
	Buffers  Buffers
	// Size is how many rows the table has.
	Size     int
	Total    int64     // commands run
	commands []Command // by commands.Row.Index(); nil until one is counted
	Tracking bool      // latency-tracking: how calls are spread over time is shown
	// Percentiles are those that INFO shows.
	Percentiles []Percentile
	Waits       SlowLog // waits for locks that took long
	Pauses      Pauses
	Held        Held
	locks       map[int]*Locks
}

// ForgetCounts sets all that is counted to zero.
func (b *Book) ForgetCounts() {
	clear(b.commands)
	b.Errors, b.Traffic, b.Rates = Errors{}, Traffic{}, Rates{}
	b.Total, b.locks = 0, nil
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
