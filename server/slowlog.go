package server

import (
	"fmt"

	"lockserver/commands"
)

const (
	// slowlogMostArgs and slowlogMostBytes are how much of a command the slow log keeps, as Redis.
	slowlogMostArgs  = 32
	slowlogMostBytes = 128
	// slowlogDefault is how many entries SLOWLOG GET returns unless told otherwise.
	slowlogDefault = 10
)

// slowlog is the last commands that took long, oldest first.
type slowlog struct {
	entries []slowEntry
	nextID  int64
}

// slowEntry is one command of the slow log.
type slowEntry struct {
	id, atS, tookUS int64
	args            [][]byte
	addr, name      string
}

// add keeps a command; of more than most entries the oldest go.
func (l *slowlog) add(s *session, atS, tookUS int64, args [][]byte, most int64) {
	e := slowEntry{id: l.nextID, atS: atS, tookUS: tookUS, args: shorten(args), addr: s.info.addr, name: s.info.name}
	l.nextID++
	l.entries = append(l.entries, e)
	if over := int64(len(l.entries)) - most; over > 0 {
		clear(l.entries[:over])
		l.entries = l.entries[over:]
	}
}

// shorten copies the beginning of a command, and says how much is missing.
func shorten(args [][]byte) [][]byte {
	n := min(len(args), slowlogMostArgs)
	short := make([][]byte, n)
	for i := range short {
		switch arg := args[i]; {
		case i == n-1 && n < len(args):
			short[i] = fmt.Appendf(nil, "... (%d more arguments)", len(args)-n+1)
		case len(arg) > slowlogMostBytes:
			short[i] = fmt.Appendf(commands.Own(arg[:slowlogMostBytes]), "... (%d more bytes)", len(arg)-slowlogMostBytes)
		default:
			short[i] = commands.Own(arg)
		}
	}
	return short
}

func slowlogRow() commands.Row {
	admin := commands.Admin | commands.Loading | commands.Stale
	row := func(name string, run func(*commands.Ctx) error, summary, complexity string, tips []string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "2.2.12", Flags: admin, Run: run, Summary: summary,
			Complexity: complexity, Tips: tips, Args: args}
	}
	return commands.Row{Name: "slowlog", Group: commands.Server, Since: "2.2.12",
		Summary: "Commands about the commands that took long.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("get", slowlogGet, "Returns the latest entries of the slow log.", "O(N) where N is the number of entries returned",
				[]string{"request_policy:all_nodes", "nondeterministic_output"}, commands.Opt(commands.Int("count"))),
			row("len", slowlogLen, "Counts the entries of the slow log.", "O(1)",
				[]string{"request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"}),
			row("reset", slowlogReset, "Empties the slow log.", "O(N) where N is the number of entries",
				[]string{"request_policy:all_nodes", "response_policy:all_succeeded"}),
		}}
}

func slowlogGet(c *commands.Ctx) error {
	a := c.Args()
	if a.Left() > 1 {
		return commands.ErrSubcommandSyntax("slowlog", c.Argv[1])
	}
	count := int64(slowlogDefault)
	if a.More() {
		count = a.IntOr(commands.ErrSlowlogCount)
		if count < -1 {
			a.Fail(commands.ErrSlowlogCount)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	entries := sessionOf(c).executor.slowlog.entries
	n := len(entries)
	if count >= 0 {
		n = int(min(count, int64(n)))
	}
	c.Out.Array(n)
	for i := range n {
		e := &entries[len(entries)-1-i]
		c.Out.Array(6)
		c.Out.Int(e.id)
		c.Out.Int(e.atS)
		c.Out.Int(e.tookUS)
		c.Out.Array(len(e.args))
		for _, arg := range e.args {
			c.Out.Bulk(arg)
		}
		c.Out.BulkString(e.addr)
		c.Out.BulkString(e.name)
	}
	return nil
}

func slowlogLen(c *commands.Ctx) error {
	c.Out.Int(int64(len(sessionOf(c).executor.slowlog.entries)))
	return nil
}

func slowlogReset(c *commands.Ctx) error {
	sessionOf(c).executor.slowlog.entries = nil
	c.Out.OK()
	return nil
}
