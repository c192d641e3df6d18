package testmode

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/server/clock"
)

// Controls is the server, as far as these commands need it.
type Controls interface {
	// Clock returns the server's clock.
	Clock() *clock.Adjustable
	// Faults returns the server's faults.
	Faults() *Faults
	// Chaos returns the server's chaos.
	Chaos() *Chaos
	// IsGroup reports whether the server imitates a group, in which another member can become the leader.
	IsGroup() bool
	// Seed makes random numbers repeatable.
	Seed(n uint64)
	// Meanwhile runs work while the executor serves others, and then calls reply.
	Meanwhile(c *commands.Ctx, work func(), reply func(c *commands.Ctx)) error
	// NewServer starts a further server that imitates topology, and returns its address; EndServer ends it.
	NewServer(topology string) (addr string, err error)
	EndServer(addr string) error
	// Reset restores the state after the start of the server, and of all shards, but keeps connections. An
	// error names state that could not be restored; then nothing has changed.
	Reset() error
	// KillShard ends a shard of the process, counted from 1.
	KillShard(n int64) error
	// Failover makes the next member the leader of the imitated group, and returns its address. by is the
	// calling client.
	Failover(by int64) (addr string, err error)
}

// Rows returns the commands of this package, for servers in test mode.
func Rows(of func(c *commands.Ctx) Controls) []commands.Row {
	const flags = commands.Admin | commands.NoScript | commands.NoMulti | commands.Loading | commands.Stale | commands.SkipSlowlog
	row := func(name, summary string, run func(h Controls, c *commands.Ctx) error, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: "0.1.0", Flags: flags, Summary: summary, Complexity: "O(1)", Args: args,
			Run: func(c *commands.Ctx) error { return run(of(c), c) }}
	}
	advance := row("advance", "Moves the clock forwards, and carries out what falls due, in order.", advance, commands.Int("milliseconds"))
	advance.Complexity = "O(N) where N is how much falls due"
	return []commands.Row{
		{Name: "test.clock", Group: commands.Server, Since: "0.1.0", Summary: "The time that the server goes by.", Complexity: "Depends on the subcommand.",
			Sub: []commands.Row{
				row("get", "Tells what the clock shows, in milliseconds since 1970.", clockGet),
				row("freeze", "Makes the clock stand still, here or at a time.", freeze, commands.Opt(commands.Int("unix-time-milliseconds"))),
				advance,
				row("resume", "Makes the clock go on from where it stands.", resume),
			}},
		{Name: "test.fault", Group: commands.Server, Since: "0.1.0", Summary: "What goes wrong on purpose.", Complexity: "Depends on the subcommand.",
			Sub: []commands.Row{
				row("add", "Makes commands fail, come late or lose their connection.", addFault,
					commands.OneOf("fault", commands.Str("text").After("ERROR"), commands.Int("milliseconds").After("DELAY"),
						commands.Flag("DROPBEFORE"), commands.Flag("DROPAFTER"), commands.Flag("CLOSE"), commands.Flag("SILENCE")),
					commands.Opt(commands.Str("command").After("MATCH")), commands.Opt(commands.Str("pattern").After("KEY")),
					commands.Opt(commands.Int("client-id").After("CLIENT")), commands.Opt(commands.Int("times").After("TIMES")),
					commands.Opt(commands.Int("skip").After("SKIP"))),
				row("list", "Lists the faults, and how often each has struck.", listFaults),
				row("del", "Takes a fault away.", delFault, commands.Int("id")),
				row("clear", "Takes all faults away.", clearFaults),
			}},
		chaosRow(row),
		{Name: "test.server", Group: commands.Server, Since: "0.1.0", Summary: "Further servers in the same process.", Complexity: "Depends on the subcommand.",
			Sub: []commands.Row{
				row("new", "Starts a further server in test mode, and tells where it is.", newServer,
					commands.Opt(commands.OneOf("topology", commands.Flag("STANDALONE"), commands.Flag("CLUSTER"), commands.Flag("SENTINEL")))),
				row("end", "Ends such a server.", endServer, commands.Str("address")),
			}},
		{Name: "test.shard", Group: commands.Server, Since: "0.1.0", Summary: "The shards of a cluster in one process.", Complexity: "Depends on the subcommand.",
			Sub: []commands.Row{row("kill", "Ends a shard as a crash does.", killShard, commands.Int("shard"))}},
		row("test.reset", "Makes everything as when the server had just started, but connections.", reset),
		row("test.failover", "Makes another member the leader of the group that the server looks like.", failover),
		row("test.seed", "Makes what is random repeat.", seed, commands.Int("seed")),
	}
}

func shows(h Controls, c *commands.Ctx) { c.Out.Int(h.Clock().NowUS() / 1000) }

func clockGet(h Controls, c *commands.Ctx) error {
	shows(h, c)
	return nil
}

// Errors of these commands.
const (
	errTime    commands.Error = "ERR a time is milliseconds since 1970, at most 253402300799999"
	errAdvance commands.Error = "ERR the clock goes forwards only, by at most a hundred years"
	errUnknown commands.Error = "ERR there is no such command"
	errNoFault commands.Error = "ERR there is no such fault"
	// ErrNoGroup is the error of Controls.Failover if the server does not imitate a group.
	ErrNoGroup commands.Error = "ERR there is no group: start the server with --test-topology cluster, or sentinel"
)

const (
	latestMS  = 253402300799999 // the end of the year 9999
	longestMS = 100 * 366 * 24 * 3600 * 1000
)

func freeze(h Controls, c *commands.Ctx) error {
	a := c.Args()
	if !a.More() {
		return meanwhile(h, c, h.Clock().Freeze)
	}
	ms := a.IntOr(errTime)
	switch {
	case a.Err() != nil:
		return a.Err()
	case ms < 0 || ms > latestMS:
		return errTime
	}
	return meanwhile(h, c, func() { h.Clock().FreezeAt(time.UnixMilli(ms)) })
}

func advance(h Controls, c *commands.Ctx) error {
	a := c.Args()
	ms := a.IntOr(errAdvance)
	switch {
	case a.Err() != nil:
		return a.Err()
	case ms < 0 || ms > longestMS:
		return errAdvance
	}
	return meanwhile(h, c, func() { h.Clock().Advance(time.Duration(ms) * time.Millisecond) })
}

func resume(h Controls, c *commands.Ctx) error {
	return meanwhile(h, c, h.Clock().Resume)
}

// meanwhile changes the clock, and then replies with its time. It does not hold the executor during the
// change, because the work that falls due needs it.
func meanwhile(h Controls, c *commands.Ctx, change func()) error {
	return h.Meanwhile(c, change, func(c *commands.Ctx) { shows(h, c) })
}

func seed(h Controls, c *commands.Ctx) error {
	a := c.Args()
	n := a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	h.Seed(uint64(n))
	c.Out.OK()
	return nil
}

// readFault reads the arguments of TEST.FAULT ADD.
func readFault(c *commands.Ctx) (f Fault, err error) {
	a := c.Args()
	kind := -1
	for i, word := range kinds[:single+1] {
		if a.IsNext(word) {
			kind = i
			break
		}
	}
	if kind < 0 {
		return f, commands.ErrSyntax
	}
	switch f.Kind = Kind(kind); {
	case f.Kind == Error && a.More():
		f.Text = string(a.Bytes())
	case f.Kind == Delay && a.More():
		f.DelayMS = a.Uint()
	case f.Kind <= Delay:
		return f, commands.ErrSyntax
	}
	for a.More() {
		word := a.Bytes()
		if !a.More() {
			return f, commands.ErrSyntax
		}
		switch {
		case ascii.EqualFold(word, "match"):
			f.Command = string(a.Bytes())
		case ascii.EqualFold(word, "key"):
			f.Key = string(a.Bytes())
		case ascii.EqualFold(word, "client"):
			f.Client = a.Uint()
		case ascii.EqualFold(word, "times"):
			f.Times = a.Uint()
		case ascii.EqualFold(word, "skip"):
			f.Skip = a.Uint()
		default:
			return f, commands.ErrSyntax
		}
	}
	if f.Command != "" && c.Table.LookupFull([]byte(f.Command)) == nil {
		return f, errUnknown
	}
	return f, a.Err()
}

func addFault(h Controls, c *commands.Ctx) error {
	f, err := readFault(c)
	if err != nil {
		return err
	}
	c.Out.Int(h.Faults().Add(f))
	return nil
}

func listFaults(h Controls, c *commands.Ctx) error {
	array, n := c.Out.DeferArray(), 0
	h.Faults().Each(func(id int64, f Fault) {
		c.Out.Map(9)
		number := func(name string, value int64) {
			c.Out.BulkString(name)
			c.Out.Int(value)
		}
		text := func(name, value string) {
			c.Out.BulkString(name)
			c.Out.BulkString(value)
		}
		number("id", id)
		text("fault", kinds[f.Kind])
		text("text", f.Text)
		number("milliseconds", f.DelayMS)
		text("command", f.Command)
		text("key", f.Key)
		number("client-id", f.Client)
		number("skip", f.Skip)
		number("struck", f.Struck)
		n++
	})
	c.Out.SetArray(array, n)
	return nil
}

func delFault(h Controls, c *commands.Ctx) error {
	a := c.Args()
	id := a.Int()
	switch {
	case a.Err() != nil:
		return a.Err()
	case !h.Faults().Remove(id):
		return errNoFault
	}
	c.Out.OK()
	return nil
}

func clearFaults(h Controls, c *commands.Ctx) error {
	c.Out.Int(h.Faults().Clear())
	return nil
}

func reset(h Controls, c *commands.Ctx) error {
	var err error
	return h.Meanwhile(c, func() { err = h.Reset() }, func(c *commands.Ctx) { okUnless(c, err) })
}

// okUnless replies OK, or the error.
func okUnless(c *commands.Ctx, err error) {
	if err != nil {
		c.Out.Error(err.Error())
		return
	}
	c.Out.OK()
}

func newServer(h Controls, c *commands.Ctx) error {
	a, topology := c.Args(), Standalone
	for _, word := range []string{Standalone, Cluster, Sentinel} {
		if a.More() && ascii.EqualFold(a.Peek(), word) {
			topology = word
			a.Bytes()
		}
	}
	if a.More() {
		return commands.ErrSyntax
	}
	return whereUnless(h, c, "ERR ", func() (string, error) { return h.NewServer(topology) })
}

func failover(h Controls, c *commands.Ctx) error {
	by := c.Session.ID()
	return whereUnless(h, c, "", func() (string, error) { return h.Failover(by) })
}

// whereUnless calls do, and replies with the address that do returns, or with its error.
func whereUnless(h Controls, c *commands.Ctx, code string, do func() (string, error)) error {
	var addr string
	var err error
	return h.Meanwhile(c, func() { addr, err = do() }, func(c *commands.Ctx) {
		if err != nil {
			c.Out.Error(code + err.Error())
			return
		}
		c.Out.BulkString(addr)
	})
}

func endServer(h Controls, c *commands.Ctx) error {
	var err error
	addr := string(c.Argv[2])
	return h.Meanwhile(c, func() { err = h.EndServer(addr) }, func(c *commands.Ctx) { okUnless(c, err) })
}

func killShard(h Controls, c *commands.Ctx) error {
	a := c.Args()
	n := a.Int()
	if err := a.Err(); err != nil {
		return err
	}
	var err error
	return h.Meanwhile(c, func() { err = h.KillShard(n) }, func(c *commands.Ctx) { okUnless(c, err) })
}
