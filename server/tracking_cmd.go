package server

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/server/tracking"
)

// trackingRows are the subcommands of CLIENT about client-side caching.
func trackingRows() []commands.Row {
	row := func(name, since string, run func(*commands.Ctx) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Connection, Since: since, Flags: whenever, Run: run,
			Summary: summary, Complexity: "O(1)", Args: args}
	}
	track := row("tracking", "6.0.0", clientTracking, "Begins or ends to tell this connection which keys have changed of those that it may keep copies of.",
		commands.OneOf("status", commands.Flag("ON"), commands.Flag("OFF")),
		commands.Opt(commands.Int("client-id").After("REDIRECT")),
		commands.Opt(commands.Str("prefix").After("PREFIX").ManyTokens()),
		commands.Opt(commands.Flag("BCAST")), commands.Opt(commands.Flag("OPTIN")),
		commands.Opt(commands.Flag("OPTOUT")), commands.Opt(commands.Flag("NOLOOP")))
	track.Complexity = "O(N) where N is the number of prefixes"
	return []commands.Row{
		row("caching", "6.0.0", clientCaching, "Decides whether the keys that the next command reads are tracked.",
			commands.OneOf("mode", commands.Flag("YES"), commands.Flag("NO"))),
		row("getredir", "6.0.0", clientGetRedir, "Returns the client that gets this connection's messages about changed keys."),
		track,
		row("trackinginfo", "6.2.0", clientTrackingInfo, "Tells how this connection tracks keys."),
	}
}

// trackingOptions are what stands behind CLIENT TRACKING ON.
type trackingOptions struct {
	tracking.Options
	prefixes []string
}

func clientTracking(c *commands.Ctx) error {
	s := sessionOf(c)
	a := c.Args()
	status := a.Bytes()
	o, err := readTrackingOptions(a, s.executor)
	if err != nil {
		return err
	}
	switch {
	case ascii.EqualFold(status, "on"):
		if err := o.check(s.tracker); err != nil {
			return err
		}
		o.apply(s)
	case ascii.EqualFold(status, "off"):
		s.executor.stopTracking(s)
	default:
		return commands.ErrSyntax
	}
	c.Out.OK()
	return nil
}

func readTrackingOptions(a *commands.Scanner, ex *executor) (o trackingOptions, err error) {
	for a.More() && err == nil {
		switch word := a.Bytes(); {
		case ascii.EqualFold(word, "redirect") && a.More():
			if o.Redirect != 0 {
				return o, commands.ErrTrackingRedirects
			}
			o.Redirect = a.IntOr(commands.ErrNotInteger)
			if err = a.Err(); err == nil && ex.clients[o.Redirect] == nil {
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

// check says whether the options fit together, and to how the session tracks already (nil: it does not).
func (o *trackingOptions) check(now *tracker) error {
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
				if tracking.Overlap(p.Name, name) {
					return commands.ErrTrackingOverlap(name, "an existing", p.Name)
				}
			}
		}
		for _, other := range o.prefixes[i+1:] {
			if tracking.Overlap(name, other) {
				return commands.ErrTrackingOverlap(name, "another provided", other)
			}
		}
	}
	return nil
}

// apply makes the session track so. Prefixes are added to those that it has; the other options replace them.
func (o *trackingOptions) apply(s *session) {
	tr := s.executor.startTracking(s)
	tr.Options, tr.Broken = o.Options, false
	if !o.BCast {
		return
	}
	if len(o.prefixes) == 0 {
		o.prefixes = []string{""}
	}
	for _, name := range o.prefixes {
		s.executor.tracking.Join(tr, name)
	}
}

func clientCaching(c *commands.Ctx) error {
	tr := sessionOf(c).tracker
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

// redirection is the ID of the client that gets the session's messages about changed keys. 0 is the session
// itself, and -1 means that it does not track.
func (s *session) redirection() int64 {
	if s.tracker == nil {
		return -1
	}
	return s.tracker.Redirect
}

func clientGetRedir(c *commands.Ctx) error {
	c.Out.Int(sessionOf(c).redirection())
	return nil
}

func clientTrackingInfo(c *commands.Ctx) error {
	s := sessionOf(c)
	flags := trackingFlags(s.tracker)
	c.Out.Map(3)
	c.Out.BulkString("flags")
	c.Out.Set(len(flags))
	for _, f := range flags {
		c.Out.BulkString(f)
	}
	c.Out.BulkString("redirect")
	c.Out.Int(s.redirection())
	c.Out.BulkString("prefixes")
	if s.tracker == nil {
		c.Out.Array(0)
		return nil
	}
	c.Out.Array(len(s.tracker.Prefixes()))
	for _, p := range s.tracker.Prefixes() {
		c.Out.BulkString(p.Name)
	}
	return nil
}

// trackingFlags are the words of CLIENT TRACKINGINFO; tr may be nil.
func trackingFlags(tr *tracker) []string {
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
