package stats

import "lockserver/commands"

// slowlogDefault is the number of entries that SLOWLOG GET returns by default.
const slowlogDefault = 10

func slowlogRow(on binding) commands.Row {
	admin := commands.Admin | commands.Loading | commands.Stale
	row := func(name string, run handler, summary, complexity string, tips []string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "2.2.12", HelpSince: "6.2.0", Flags: admin, Run: on(run), Summary: summary,
			Complexity: complexity, Tips: tips, Args: args}
	}
	return commands.Row{Name: "slowlog", Group: commands.Server, Since: "2.2.12", HelpSince: "6.2.0",
		Summary: "Commands about the commands that took long.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("get", (*Book).slowlogGet, "Returns the latest entries of the slow log.", "O(N) where N is the number of entries returned",
				[]string{"request_policy:all_nodes", "nondeterministic_output"}, commands.Opt(commands.Int("count"))),
			row("len", (*Book).slowlogLen, "Counts the entries of the slow log.", "O(1)",
				[]string{"request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"}),
			row("reset", (*Book).slowlogReset, "Empties the slow log.", "O(N) where N is the number of entries",
				[]string{"request_policy:all_nodes", "response_policy:all_succeeded"}),
		}}
}

func (b *Book) slowlogGet(c *commands.Ctx) error {
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
	b.Slow.write(c, count)
	return nil
}

// write replies with the latest count entries; -1 means all.
func (l *SlowLog) write(c *commands.Ctx, count int64) {
	n := l.Len()
	if count >= 0 {
		n = int(min(count, int64(n)))
	}
	c.Out.Array(n)
	for i := range n {
		e := l.Latest(i)
		c.Out.Array(6)
		c.Out.Int(e.ID)
		c.Out.Int(e.AtS)
		c.Out.Int(e.Figure)
		c.Out.Array(len(e.Args))
		for _, arg := range e.Args {
			c.Out.Bulk(arg)
		}
		c.Out.BulkString(e.Addr)
		c.Out.BulkString(e.Name)
	}
}

func (b *Book) slowlogLen(c *commands.Ctx) error {
	c.Out.Int(int64(b.Slow.Len()))
	return nil
}

func (b *Book) slowlogReset(c *commands.Ctx) error {
	b.Slow.Reset()
	c.Out.OK()
	return nil
}
