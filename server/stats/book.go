// Package stats keeps data that an operator asks for later: slow commands, slow events, and the distribution
// of the running times of commands. Its commands are SLOWLOG, COMMANDLOG and LATENCY.
//
// It owns the limits of this data, and how the data is shown. It must not know a session, an executor, the
// directives or a clock: the caller passes times and limits, and says what a time belongs to. Nothing here
// locks; its owner does.
//
// To add a statistic, add a file with a plain type that is ready for use as its zero value, and a field to
// Book. To add a command, write its row and its handler, a method of Book if it needs one, in a file that
// ends in _cmd.go.
package stats

import "lockserver/commands"

// Book holds all statistics of a server. The zero value keeps neither slow commands nor events; Size must be
// set.
type Book struct {
	Slow     SlowLog
	Requests SlowLog // large requests
	Replies  SlowLog
	Events   Events
	Errors   Errors
	Traffic  Traffic
	Rates    Rates // rates of Traffic and of commands
	Buffers  Buffers
	// Size is the number of rows in the command table.
	Size     int
	Total    int64     // commands run
	commands []Command // by commands.Row.Index(); nil until the first count
	Tracking bool      // latency-tracking: the distribution of running times is shown
	// Percentiles lists the percentiles that INFO shows.
	Percentiles []Percentile
	Waits       SlowLog // long waits for locks
	Pauses      Pauses
	Held        Held
	locks       map[int]*Locks
}

// ForgetCounts sets all counts to zero.
func (b *Book) ForgetCounts() {
	clear(b.commands)
	b.Errors, b.Traffic, b.Rates = Errors{}, Traffic{}, Rates{}
	b.Total, b.locks = 0, nil
}

// ForgetLogs removes the entries of all logs and events.
func (b *Book) ForgetLogs() {
	for _, l := range []*SlowLog{&b.Slow, &b.Requests, &b.Replies, &b.Waits} {
		l.Reset()
	}
	b.Events.Reset()
}

// handler is a command of this package.
type handler func(b *Book, c *commands.Ctx) error

// binding converts a handler to the function of a row.
type binding func(h handler) func(c *commands.Ctx) error

// Rows returns the commands of this package. bookOf finds the book of the server that runs a command.
func Rows(bookOf func(c *commands.Ctx) *Book) []commands.Row {
	on := func(h handler) func(c *commands.Ctx) error {
		return func(c *commands.Ctx) error { return h(bookOf(c), c) }
	}
	return []commands.Row{slowlogRow(on), commandlogRow(on), latencyRow(on)}
}
