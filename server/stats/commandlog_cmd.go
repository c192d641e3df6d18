package stats

import (
	"strings"

	"lockserver/commands"
)

// commandlogRow returns the row of COMMANDLOG, from Valkey 8.1: the slow log, which SLOWLOG also shows, and
// the logs of large requests and replies. The log of long waits for locks is our own. A wait does not delay
// other clients, so it does not belong in the slow log.
func commandlogRow(on binding) commands.Row {
	admin := commands.Admin | commands.Loading | commands.Stale
	kind := commands.Str("type")
	row := func(name string, run handler, summary, complexity string, tips []string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "8.1.0", Flags: admin, Run: on(run), Summary: summary,
			Complexity: complexity, Tips: tips, Args: args}
	}
	return commands.Row{Name: "commandlog", Group: commands.Server, Since: "8.1.0",
		Summary: "Commands about the commands that took long, or had a large request or reply.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("get", (*Book).commandlogGet, "Returns the latest entries of a log.", "O(N) where N is the number of entries returned",
				[]string{"request_policy:all_nodes", "nondeterministic_output"}, commands.Int("count"), kind),
			row("len", (*Book).commandlogLen, "Counts the entries of a log.", "O(1)",
				[]string{"request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"}, kind),
			row("reset", (*Book).commandlogReset, "Empties a log.", "O(N) where N is the number of entries",
				[]string{"request_policy:all_nodes", "response_policy:all_succeeded"}, kind),
		}}
}

// readLog reads the name of a log.
func (b *Book) readLog(a *commands.Scanner) *SlowLog {
	switch strings.ToLower(a.String()) {
	case "slow":
		return &b.Slow
	case "large-request":
		return &b.Requests
	case "large-reply":
		return &b.Replies
	case "lock-wait":
		return &b.Waits
	}
	a.Fail(commands.ErrCommandlogType)
	return nil
}

func (b *Book) commandlogGet(c *commands.Ctx) error {
	a := c.Args()
	count := a.IntOr(commands.ErrSlowlogCount)
	if count < -1 {
		a.Fail(commands.ErrSlowlogCount)
	}
	log := b.readLog(a)
	if err := a.Err(); err != nil {
		return err
	}
	log.write(c, count)
	return nil
}

func (b *Book) commandlogLen(c *commands.Ctx) error {
	log := b.readLog(c.Args())
	if log == nil {
		return commands.ErrCommandlogType
	}
	c.Out.Int(int64(log.Len()))
	return nil
}

func (b *Book) commandlogReset(c *commands.Ctx) error {
	log := b.readLog(c.Args())
	if log == nil {
		return commands.ErrCommandlogType
	}
	log.Reset()
	c.Out.OK()
	return nil
}
