package tracking

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
)

// Caller is the client that runs a command of this package.
type Caller[C comparable] interface {
	// Tracker returns the client's tracker, or nil. Start makes it track, and Stop ends that; both do nothing
	// if that is the state already.
	Tracker() *Tracker[C]
	Start() *Tracker[C]
	Stop()
	// News returns the server's News. HasClient reports whether a client is connected.
	News() *News[C]
	HasClient(id int64) bool
}

// Rows returns the subcommands of CLIENT about client-side caching. callerOf finds the client that runs a
// command.
func Rows[C comparable](callerOf func(c *commands.Ctx) Caller[C]) []commands.Row {
	row := func(name, since string, run func(*commands.Ctx, Caller[C]) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Connection, Since: since, Flags: commands.NoScript | commands.Loading | commands.Stale,
			Run: func(c *commands.Ctx) error { return run(c, callerOf(c)) }, Summary: summary, Complexity: "O(1)", Args: args}
	}
	track := row("tracking", "6.0.0", clientTracking[C], "Begins or ends to tell this connection which keys have changed of those that it may keep copies of.",
		commands.OneOf("status", commands.Flag("ON"), commands.Flag("OFF")),
		commands.Opt(commands.Int("client-id").After("REDIRECT")),
		commands.Opt(commands.Str("prefix").After("PREFIX").ManyTokens()),
		commands.Opt(commands.Flag("BCAST")), commands.Opt(commands.Flag("OPTIN")),
		commands.Opt(commands.Flag("OPTOUT")), commands.Opt(commands.Flag("NOLOOP")))
	track.Complexity = "O(N) where N is the number of prefixes"
	return []commands.Row{
		row("caching", "6.0.0", clientCaching[C], "Decides whether the keys that the next command reads are tracked.",
			commands.OneOf("mode", commands.Flag("YES"), commands.Flag("NO"))),
		row("getredir", "6.0.0", clientGetRedir[C], "Returns the client that gets this connection's messages about changed keys."),
		track,
		row("trackinginfo", "6.2.0", clientTrackingInfo[C], "Tells how this connection tracks keys."),
	}
}

// call holds the options of CLIENT TRACKING ON.
type call struct {
	Options
	prefixes []string
}

func clientTracking[C comparable](c *commands.Ctx, by Caller[C]) error {
	a := c.Args()
	status := a.Bytes()
	o, err := readCall(a, by.HasClient)
	if err != nil {
		return err
	}
	switch {
	case ascii.EqualFold(status, "on"):
		if err := check(&o, by.Tracker()); err != nil {
			return err
		}
		apply(&o, by)
	case ascii.EqualFold(status, "off"):
		by.Stop()
	default:
		return commands.ErrSyntax
	}
	c.Out.OK()
	return nil
}

func readCall(a *commands.Scanner, hasClient func(id int64) bool) (o call, err error) {
	for a.More() && err == nil {
		switch word := a.Bytes(); {
		case ascii.EqualFold(word, "redirect") && a.More():
			if o.Redirect != 0 {
				return o, commands.ErrTrackingRedirects
			}
			o.Redirect = a.IntOr(commands.ErrNotInteger)
			if err = a.Err(); err == nil && !hasClient(o.Redirect) {
				err = commands.ErrTrackingRedirect
			}
		case ascii.EqualFold(word, "bcast"):
			o.BCast = true
		case ascii.EqualFold(word, "optin"):
			o.OptIn = true
		case ascii.EqualFold(word, "optout"):
			o.OptOut = true
		case ascii.EqualFold(word, "noloop"):
			o.NoLoop = true
		case ascii.EqualFold(word, "prefix") && a.More():
			o.prefixes = append(o.prefixes, a.String())
		default:
			err = commands.ErrSyntax
		}
	}
	return o, err
}

// check returns an error if the options contradict each other, or the session's present tracking (nil: none).
func check[C comparable](o *call, now *Tracker[C]) error {
	switch {
	case !o.BCast && len(o.prefixes) > 0:
		return commands.ErrTrackingPrefix
	case now != nil && now.BCast != o.BCast:
		return commands.ErrTrackingSwitch
	case o.BCast && (o.OptIn || o.OptOut):
		return commands.ErrTrackingBroadcast
	case o.OptIn && o.OptOut:
		return commands.ErrTrackingOptions
	case now != nil && (o.OptIn && now.OptOut || o.OptOut && now.OptIn):
		return commands.ErrTrackingOptSwitch
	}
	for i, name := range o.prefixes {
		if now != nil {
			for _, p := range now.Prefixes() {
				if Overlap(p.Name, name) {
					return commands.ErrTrackingOverlap(name, "an existing", p.Name)
				}
			}
		}
		for _, other := range o.prefixes[i+1:] {
			if Overlap(name, other) {
				return commands.ErrTrackingOverlap(name, "another provided", other)
			}
		}
	}
	return nil
}

// apply starts or changes the tracking. Prefixes are added to the present prefixes; the other options are
// replaced.
func apply[C comparable](o *call, by Caller[C]) {
	tr := by.Start()
	tr.Options, tr.Broken = o.Options, false
	if !o.BCast {
		return
	}
	if len(o.prefixes) == 0 {
		o.prefixes = []string{""}
	}
	for _, name := range o.prefixes {
		by.News().Join(tr, name)
	}
}

func clientCaching[C comparable](c *commands.Ctx, by Caller[C]) error {
	tr := by.Tracker()
	if tr == nil {
		return commands.ErrCachingNotTracking
	}
	switch mode := c.Args().Bytes(); {
	case ascii.EqualFold(mode, "yes"):
		if !tr.OptIn {
			return commands.ErrCachingYes
		}
	case ascii.EqualFold(mode, "no"):
		if !tr.OptOut {
			return commands.ErrCachingNo
		}
	default:
		return commands.ErrSyntax
	}
	tr.Caching = true
	c.Out.OK()
	return nil
}

func clientGetRedir[C comparable](c *commands.Ctx, by Caller[C]) error {
	c.Out.Int(by.Tracker().Redirection())
	return nil
}

func clientTrackingInfo[C comparable](c *commands.Ctx, by Caller[C]) error {
	tr := by.Tracker()
	flags := tr.words()
	c.Out.Map(3)
	c.Out.BulkString("flags")
	c.Out.Set(len(flags))
	for _, f := range flags {
		c.Out.BulkString(f)
	}
	c.Out.BulkString("redirect")
	c.Out.Int(tr.Redirection())
	c.Out.BulkString("prefixes")
	if tr == nil {
		c.Out.Array(0)
		return nil
	}
	c.Out.Array(len(tr.Prefixes()))
	for _, p := range tr.Prefixes() {
		c.Out.BulkString(p.Name)
	}
	return nil
}

// words returns the words of CLIENT TRACKINGINFO; tr may be nil.
func (tr *Tracker[C]) words() []string {
	if tr == nil {
		return []string{"off"}
	}
	flags := []string{"on"}
	for _, f := range []struct {
		word string
		is   bool
	}{
		{"bcast", tr.BCast},
		{"optin", tr.OptIn},
		{"caching-yes", tr.OptIn && tr.Caching},
		{"optout", tr.OptOut},
		{"caching-no", tr.OptOut && tr.Caching},
		{"noloop", tr.NoLoop},
		{"broken_redirect", tr.Broken},
	} {
		if f.is {
			flags = append(flags, f.word)
		}
	}
	return flags
}
