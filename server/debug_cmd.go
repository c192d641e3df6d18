package server

import (
	"net/netip"
	"strings"
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

// mayDebug reports whether enable-debug-command lets the client debug.
func (s *session) mayDebug() bool { return s.executor.config.EnableDebugCommand.Allows(s.isLocal()) }

// isLocalAddr reports whether an address of CLIENT LIST is loopback, a unix socket, or in-process.
func isLocalAddr(addr string) bool {
	if strings.HasSuffix(addr, ":0") || addr == "in-process" {
		return true
	}
	ap, err := netip.ParseAddrPort(addr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
