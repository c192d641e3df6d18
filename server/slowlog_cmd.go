package server

import "lockserver/commands"

// slowlogDefault is how many entries SLOWLOG GET returns unless told otherwise.
const slowlogDefault = 10

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
	log := &sessionOf(c).executor.slowlog
	n := log.Len()
	if count >= 0 {
		n = int(min(count, int64(n)))
	}
	c.Out.Array(n)
	for i := range n {
		e := log.Latest(i)
		c.Out.Array(6)
		c.Out.Int(e.ID)
		c.Out.Int(e.AtS)
		c.Out.Int(e.TookUS)
		c.Out.Array(len(e.Args))
		for _, arg := range e.Args {
			c.Out.Bulk(arg)
		}
		c.Out.BulkString(e.Addr)
		c.Out.BulkString(e.Name)
	}
	return nil
}

func slowlogLen(c *commands.Ctx) error {
	c.Out.Int(int64(sessionOf(c).executor.slowlog.Len()))
	return nil
}

func slowlogReset(c *commands.Ctx) error {
	sessionOf(c).executor.slowlog.Reset()
	c.Out.OK()
	return nil
}
