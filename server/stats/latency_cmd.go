package stats

import (
	"fmt"
	"slices"
	"strings"

	"lockserver/commands"
)

func latencyRow(on binding) commands.Row {
	admin := commands.Admin | commands.NoScript | commands.Loading | commands.Stale
	row := func(name, since string, run handler, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: since, Flags: admin, Run: on(run), Summary: summary,
			Complexity: "O(1)", Args: args,
			Tips: []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"}}
	}
	reset := row("reset", "2.8.13", (*Book).latencyReset, "Forgets the samples of events, or of all.",
		commands.Opt(commands.Str("event").Many()))
	reset.Tips = []string{"request_policy:all_nodes", "response_policy:agg_sum"}
	histogram := row("histogram", "7.0.0", (*Book).latencyHistogram, "Tells how long the calls of commands took.",
		commands.Opt(commands.Str("command").Many()))
	histogram.Complexity = "O(N) where N is the number of commands"
	return commands.Row{Name: "latency", Group: commands.Server, Since: "2.8.13",
		Summary: "Commands about what took long.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("latest", "2.8.13", (*Book).latencyLatest, "Returns the latest sample of every event, and the worst."),
			row("history", "2.8.13", (*Book).latencyHistory, "Returns the samples of an event.", commands.Str("event")),
			reset,
			row("graph", "2.8.13", (*Book).latencyGraph, "Draws the samples of an event.", commands.Str("event")),
			row("doctor", "2.8.13", (*Book).latencyDoctor, "Explains what took long."),
			histogram,
		}}
}

func (b *Book) latencyLatest(c *commands.Ctx) error {
	names := b.Events.Names()
	c.Out.Array(len(names))
	for _, name := range names {
		e := b.Events.Of(name)
		last := e.Samples[len(e.Samples)-1]
		c.Out.Array(4)
		c.Out.BulkString(name)
		c.Out.Int(last.AtS)
		c.Out.Int(last.MS)
		c.Out.Int(e.WorstMS)
	}
	return nil
}

func (b *Book) latencyHistory(c *commands.Ctx) error {
	e := b.Events.Of(string(c.Args().Bytes()))
	if e == nil {
		c.Out.Array(0)
		return nil
	}
	c.Out.Array(len(e.Samples))
	for _, s := range e.Samples {
		c.Out.Array(2)
		c.Out.Int(s.AtS)
		c.Out.Int(s.MS)
	}
	return nil
}

func (b *Book) latencyReset(c *commands.Ctx) error {
	var names []string
	for _, name := range c.Args().Rest() {
		names = append(names, string(name))
	}
	c.Out.Int(int64(b.Events.Reset(names...)))
	return nil
}

// graphRows is the height of the bars of LATENCY GRAPH in lines, graphColumns the number of the latest
// samples in it.
const (
	graphRows    = 4
	graphColumns = 72
)

func (b *Book) latencyGraph(c *commands.Ctx) error {
	name := c.Args().Bytes()
	e := b.Events.Of(string(name))
	if e == nil {
		return commands.ErrLatencySamples(name)
	}
	nowS := c.NowMS() / 1000
	f := e.Figures(nowS)
	var text strings.Builder
	fmt.Fprintf(&text, "%s: highest %d ms, lowest %d ms, highest ever %d ms\n", name, f.Most, f.Least, e.WorstMS)
	samples := e.Samples[max(0, len(e.Samples)-graphColumns):]
	for row := graphRows; row > 0; row-- {
		for _, s := range samples {
			height := int64(graphRows)
			if f.Most > f.Least {
				height = 1 + (s.MS-f.Least)*(graphRows-1)/(f.Most-f.Least)
			}
			if height >= int64(row) {
				text.WriteByte('#')
			} else {
				text.WriteByte(' ')
			}
		}
		text.WriteByte('\n')
	}
	writeAges(&text, samples, nowS)
	c.Out.Verbatim("txt", text.String())
	return nil
}

// writeAges writes the age of each sample, from top to bottom: "15s", "3m".
func writeAges(b *strings.Builder, samples []Sample, nowS int64) {
	longest := 0
	ages := make([]string, len(samples))
	for i, s := range samples {
		ages[i] = age(nowS - s.AtS)
		longest = max(longest, len(ages[i]))
	}
	for line := range longest {
		for _, a := range ages {
			if line < len(a) {
				b.WriteByte(a[line])
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
}

func age(s int64) string {
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm", s/60)
	case s < 86400:
		return fmt.Sprintf("%dh", s/3600)
	default:
		return fmt.Sprintf("%dd", s/86400)
	}
}

// advice holds the advice about each event.
var advice = map[string]string{
	"command": "SLOWLOG GET shows the commands; those that go through much data at once (KEYS, SMEMBERS, LRANGE 0 -1, " +
		"large scripts) can be split up.",
	"fast-command": "these commands take little by themselves: look whether the machine is short of CPU or memory, or " +
		"the values are very large.",
	"lock-wait": "LOCK.STATS tells how long waits are in all, COMMANDLOG GET 10 lock-wait which were, LOCK.INFO who holds a lock now: " +
		"hold locks for less time, or lock less at a time.",
	"aof-sync":     "the disk is slow, or busy with something else; with appendfsync always every reply to a write waits for it.",
	"gc":           "the collector of Go has stopped everything: look whether the machine is short of CPU.",
	"expire-cycle": "many keys die at the same time: add a little chance to their lifetimes.",
}

func (b *Book) latencyDoctor(c *commands.Ctx) error {
	l := &b.Events
	var text strings.Builder
	switch {
	case l.ThresholdMS == 0:
		text.WriteString("Nothing is watched: CONFIG SET latency-monitor-threshold to the number of milliseconds from which on " +
			"something is slow for you.\n")
	case len(l.Names()) == 0:
		fmt.Fprintf(&text, "Nothing took %d ms or more.\n", l.ThresholdMS)
	default:
		nowS := c.NowMS() / 1000
		for _, name := range l.Names() {
			e := l.Of(name)
			f := e.Figures(nowS)
			fmt.Fprintf(&text, "%s: %d samples, one every %d s; %d ms on average, give or take %d ms; the worst took %d ms.\n    %s\n",
				name, len(e.Samples), f.SpanS/int64(len(e.Samples)), f.Average, f.Deviation, e.WorstMS, advice[name])
		}
	}
	c.Out.Verbatim("txt", text.String())
	return nil
}

// latencyHistogram leaves out commands that do not exist or were never measured. A container means its
// subcommands.
func (b *Book) latencyHistogram(c *commands.Ctx) error {
	var rows []*commands.Row
	add := func(row *commands.Row) {
		if row != nil && b.Tracking && b.Of(row).Times() != nil && !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	a := c.Args()
	if !a.More() {
		for _, row := range c.Table.Rows() {
			add(row)
			for _, sub := range row.Subcommands() {
				add(sub)
			}
		}
	}
	for a.More() {
		row := c.Table.LookupFull(a.Bytes())
		add(row)
		if row != nil {
			for _, sub := range row.Subcommands() {
				add(sub)
			}
		}
	}
	c.Out.Map(len(rows))
	for _, row := range rows {
		c.Out.BulkString(row.FullName())
		writeHistogram(c, b.Of(row))
	}
	return nil
}

func writeHistogram(c *commands.Ctx, of *Command) {
	c.Out.Map(2)
	c.Out.BulkString("calls")
	c.Out.Int(of.Calls)
	c.Out.BulkString("histogram_usec")
	steps := of.Times().Steps()
	c.Out.Map(len(steps))
	for _, s := range steps {
		c.Out.Int(s.US)
		c.Out.Int(s.Calls)
	}
}
