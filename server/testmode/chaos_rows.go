package testmode

import (
	"math"
	"strings"

	"lockserver/commands"
)

// TEST.CHAOS: faults drawn from a seed.

// chaosRow returns the row of TEST.CHAOS; row makes a subcommand.
func chaosRow(row func(name, summary string, run func(h Controls, c *commands.Ctx) error, args ...commands.Arg) commands.Row) commands.Row {
	return commands.Row{Name: "test.chaos", Group: commands.Server, Since: "0.1.0", Summary: "Faults that a seed decides.",
		Complexity: "Depends on the subcommand.", Sub: []commands.Row{
			row("seed", "Strikes commands of other clients with faults drawn from a seed.", chaosSeed, commands.Int("seed"),
				commands.Double("probability").After("RATE"), commands.Opt(commands.Str("kinds").After("KINDS")),
				commands.Opt(commands.Int("milliseconds").After("MAXDELAY"))),
			row("replay", "Strikes exactly these calls of other clients.", chaosReplay, commands.Str("strike").Many()),
			row("list", "Lists what has been struck, in the form of REPLAY.", chaosList),
			row("off", "Ends the faults, and tells how many calls they have struck.", chaosOff),
		}}
}

// Errors of TEST.CHAOS.
const (
	errRate     commands.Error = "ERR a rate is a probability from 0 to 1"
	errMaxDelay commands.Error = "ERR a delay is a positive number of milliseconds"
	errKinds    commands.Error = "ERR kinds are some of dropbefore,dropafter,delay,expire,failover,restart, with commas"
	errStrike   commands.Error = "ERR a strike is command#call:kind, with the milliseconds of delay and the key of expire: lock#1:delay:250"
)

// defaultKinds returns the kinds that are drawn without KINDS.
func defaultKinds(h Controls) []Kind {
	list := []Kind{DropBefore, DropAfter, Delay, Expire, Restart}
	if h.IsGroup() {
		list = append(list, Failover)
	}
	return list
}

func chaosSeed(h Controls, c *commands.Ctx) error {
	a := c.Args()
	d := Draws{Seed: uint64(a.Int()), Kinds: defaultKinds(h), MaxDelayMS: defaultDelayMS}
	rated := false
	for a.More() && a.Err() == nil {
		word := strings.ToUpper(string(a.Bytes()))
		if !a.More() {
			return commands.ErrSyntax
		}
		switch word {
		case "RATE":
			rated = true
			if d.Rate = a.Float(); a.Err() == nil && (math.IsNaN(d.Rate) || d.Rate < 0 || d.Rate > 1) {
				return errRate
			}
		case "KINDS":
			var err error
			if d.Kinds, err = readKinds(h, string(a.Bytes())); err != nil {
				return err
			}
		case "MAXDELAY":
			if d.MaxDelayMS = a.IntOr(errMaxDelay); a.Err() == nil && (d.MaxDelayMS < 1 || d.MaxDelayMS > longestMS) {
				return errMaxDelay
			}
		default:
			return commands.ErrSyntax
		}
	}
	switch {
	case a.Err() != nil:
		return a.Err()
	case !rated:
		return commands.ErrSyntax
	}
	h.Chaos().Begin(c.Session.ID(), d)
	c.Out.OK()
	return nil
}

// readKinds reads words separated by commas.
func readKinds(h Controls, words string) (kinds []Kind, err error) {
	for word := range strings.SplitSeq(strings.ToLower(words), ",") {
		kind, ok := ChaosKinds[word]
		switch {
		case !ok:
			return nil, errKinds
		case kind == Failover && !h.IsGroup():
			return nil, ErrNoGroup
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func chaosReplay(h Controls, c *commands.Ctx) error {
	var strikes []Strike
	for _, word := range c.Argv[2:] {
		s, ok := ParseStrike(string(word))
		switch {
		case !ok:
			return errStrike
		case c.Table.LookupFull([]byte(s.Command)) == nil:
			return errUnknown
		case s.Kind == Failover && !h.IsGroup():
			return ErrNoGroup
		}
		strikes = append(strikes, s)
	}
	h.Chaos().Replay(c.Session.ID(), strikes)
	c.Out.OK()
	return nil
}

func chaosList(h Controls, c *commands.Ctx) error {
	struck := h.Chaos().Struck()
	c.Out.Array(len(struck))
	for _, s := range struck {
		c.Out.BulkString(s.String())
	}
	return nil
}

func chaosOff(h Controls, c *commands.Ctx) error {
	h.Chaos().End()
	c.Out.Int(int64(len(h.Chaos().Struck())))
	return nil
}
