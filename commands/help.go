package commands

import (
	"cmp"
	"strings"
)

// helpRow returns the HELP subcommand of a container. Its text is made from the rows of the other
// subcommands.
func helpRow(container *Row) *Row {
	return &Row{
		Name: "help", Group: container.Group, Since: cmp.Or(container.HelpSince, container.Since), Complexity: "O(1)",
		Summary: "Lists the subcommands and what they do.",
		Flags:   Loading | Stale, Cats: container.Cats, Run: help,
	}
}

// help replies one simple string for each line.
func help(c *Ctx) error {
	container := c.Row.parent
	lines := []string{strings.ToUpper(container.Name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	if container.Run != nil {
		lines = append(lines, "(no subcommand)", "    "+container.Summary)
	}
	for _, sub := range container.subs {
		if sub == c.Row {
			continue
		}
		lines = append(lines, strings.ToUpper(sub.Name)+usage(sub.Args), "    "+sub.Summary)
	}
	lines = append(lines, "HELP", "    Print this help.")
	c.Out.Array(len(lines))
	for _, line := range lines {
		c.Out.Simple(line)
	}
	return nil
}

// usage writes a sequence of arguments for a reader, with a space before each: " <key> [NX | XX]".
func usage(args []Arg) string {
	var s string
	for i := range args {
		s += " " + argUsage(&args[i])
	}
	return s
}

func argUsage(a *Arg) string {
	once := onceUsage(a)
	s := once
	if a.Multiple {
		again := once
		if a.Token != "" && !a.MultipleToken {
			again = onceUsage(&Arg{Name: a.usageName(), Kind: a.Kind, Args: a.Args})
		}
		s += " [" + again + " ...]"
	}
	if a.Optional {
		return "[" + s + "]"
	}
	if a.Kind == KindOneOf && a.Token == "" && !a.Multiple {
		return "(" + s + ")"
	}
	return s
}

func onceUsage(a *Arg) string {
	var s string
	switch a.Kind {
	case KindPureToken:
		return a.Token
	case KindOneOf:
		for i := range a.Args {
			if i > 0 {
				s += "|"
			}
			s += argUsage(&a.Args[i])
		}
	case KindBlock:
		s = usage(a.Args)[1:]
	default:
		s = "<" + a.usageName() + ">"
	}
	if a.Token != "" {
		return a.Token + " " + s
	}
	return s
}
