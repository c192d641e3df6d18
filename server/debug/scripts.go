package debug

import (
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/glob"
)

// shaBytes is how long the name of a script is.
const shaBytes = 40

// scripts writes scripts into the log, each in one line.
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
	// matchTrials is how many patterns STRINGMATCH-TEST tries, and matchBytes how long they and the strings
	// are at most.
	matchTrials = 20_000
	matchBytes  = 31
	// matchLetters are what both are made of: few, so that much matches.
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
