package debug

import (
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/glob"
)

// shaBytes is the length of a script's name.
const shaBytes = 40

// scripts writes the scripts to the log, each on a line.
func scripts(c *call) error {
	name := c.args[0]
	show := func(sha, body string) { c.host.Log("SCRIPT SHA: " + sha + "\n" + body) }
	switch {
	case ascii.EqualFold(name, "list"):
		c.host.EachScript(show)
	case len(name) == shaBytes:
		body, ok := c.host.Script(name)
		if !ok {
			return commands.ErrNoSuchScript
		}
		show(string(name), body)
	default:
		return commands.ErrSubcommandSyntax("debug", c.Argv[1])
	}
	c.Out.OK()
	return nil
}

const (
	// matchTrials is the number of patterns that STRINGMATCH-TEST tries. matchBytes limits the length of
	// patterns and strings.
	matchTrials = 20_000
	matchBytes  = 31
	// matchLetters lists the letters of both: a few letters, so that many match.
	matchLetters = `ab*?[]^-\`
)

func matchTest(c *call) error {
	word := func() []byte {
		var b strings.Builder
		for range c.Rand.IntN(matchBytes + 1) {
			b.WriteByte(matchLetters[c.Rand.IntN(len(matchLetters))])
		}
		return []byte(b.String())
	}
	for range matchTrials {
		glob.Match(word(), word(), false)
	}
	c.Out.Simple("Apparently Redis did not crash: test passed")
	return nil
}
