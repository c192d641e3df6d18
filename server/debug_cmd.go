package server

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/resp"
)

func debugRows() []commands.Row {
	return []commands.Row{{Name: "debug", Group: commands.Server, Since: "1.0.0", Flags: whenever | commands.Admin | commands.Protected, Run: debugCmd,
		Summary: "Helps testing: SLEEP seconds, SET-ACTIVE-EXPIRE 0|1.", Complexity: "Depends on the subcommand.",
		MinArgs: 2}}
}

// debugCmd parses its own words, as Redis' DEBUG does, so that they stay out of completion and help.
func debugCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	if !s.mayDebug() {
		return commands.ErrDebugDisabled
	}
	word, args := c.Argv[1], c.Argv[2:]
	switch {
	case ascii.EqualFold(word, "sleep") && len(args) == 1:
		seconds, _ := resp.ParseFloat(args[0])
		time.Sleep(time.Duration(seconds * float64(time.Second)))
		c.Out.OK()
	case ascii.EqualFold(word, "set-active-expire") && len(args) == 1:
		s.executor.expiryPaused = string(args[0]) == "0"
		c.Out.OK()
	default:
		return commands.ErrSubcommandSyntax("debug", word)
	}
	return nil
}
