package debug

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/resp"
)

// Host is what DEBUG needs of the server.
type Host interface {
	// Allowed reports whether enable-debug-command lets the client debug.
	Allowed() bool
	// SetActiveExpiry says whether keys go by themselves when their time has come.
	SetActiveExpiry(on bool)
	// Log writes a line into the server's log.
	Log(text string)
	// Compresses reports whether the server's files are compressed (rdbcompression).
	Compresses() bool
}

// call is one DEBUG: its context, the words behind the subcommand, and the server.
type call struct {
	*commands.Ctx
	args [][]byte
	host Host
}

// subcommand is one of DEBUG's. They are not subcommands as commands.Row knows them: those of Redis have no
// rows either, so completion and COMMAND do not show them.
type subcommand struct {
	name        string
	least, most int // words behind it
	run         func(c *call) error
	help        []string // as Redis' HELP: the call, then what it does
}

// Rows are the commands of this package. hostOf finds the server that runs one, for the client that sent it.
func Rows(hostOf func(c *commands.Ctx) Host) []commands.Row {
	all := subcommands()
	return []commands.Row{{
		Name: "debug", Group: commands.Server, Since: "1.0.0", MinArgs: 2, SysCmd: true,
		Flags:   commands.NoScript | commands.Loading | commands.Stale | commands.Admin | commands.Protected,
		Summary: "Helps testing: digests of the data, the insides of values, switches. See DEBUG HELP.", Complexity: "Depends on the subcommand.",
		Run: func(c *commands.Ctx) error { return run(&call{Ctx: c, args: c.Argv[2:], host: hostOf(c)}, all) },
	}}
}

func run(c *call, all []subcommand) error {
	if !c.host.Allowed() {
		return commands.ErrDebugDisabled
	}
	word := c.Argv[1]
	if ascii.EqualFold(word, "help") && len(c.args) == 0 {
		help(c, all)
		return nil
	}
	for _, s := range all {
		if ascii.EqualFold(word, s.name) && len(c.args) >= s.least && len(c.args) <= s.most {
			return s.run(c)
		}
	}
	return commands.ErrSubcommandSyntax("debug", word)
}

func subcommands() []subcommand {
	const any = 1 << 30
	return []subcommand{
		{"digest", 0, 0, digestOf, []string{"DIGEST", "Returns the digest of all data."}},
		{"digest-value", 0, any, digestValues, []string{"DIGEST-VALUE [<key> ...]", "Returns the digest of each key's value."}},
		{"error", 1, 1, replyError, []string{"ERROR <string>", "Replies with an error of these words."}},
		{"htstats", 1, 2, htStats, []string{"HTSTATS <dbid> [full]", "Tells of a database's tables."}},
		{"htstats-key", 1, 2, htStatsOfKey, []string{"HTSTATS-KEY <key> [full]", "Tells of the table of a key's value."}},
		{"listpack", 1, 1, listpackOf, []string{"LISTPACK <key>", "Writes the listpack of a key's value into the log."}},
		{"log", 1, 1, logLine, []string{"LOG <message>", "Writes a line into the log."}},
		{"object", 1, 2, object, []string{"OBJECT <key> [fast]", "Tells how a key's value is kept."}},
		{"populate", 1, 3, populate, []string{"POPULATE <count> [<prefix>] [<size>]",
			"Makes keys <prefix>:0, <prefix>:1 ..., by default key:0 ..., that are not there, with values of <size> bytes."}},
		{"protocol", 1, 1, protocol, []string{"PROTOCOL <type>", "Replies with a value of a type: string, integer, double, bignum, null,",
			"array, set, map, attrib, push, verbatim, true or false."}},
		{"sdslen", 1, 1, sizes, []string{"SDSLEN <key>", "Tells the lengths of a key and of its string."}},
		{"set-active-expire", 1, 1, setActiveExpiry, []string{"SET-ACTIVE-EXPIRE <0|1>", "Says whether keys go by themselves when their time has come."}},
		{"sleep", 1, 1, sleep, []string{"SLEEP <seconds>", "Stops the server for a time."}},
	}
}

// help writes what the subcommands do, as HELP of a container does.
func help(c *call, all []subcommand) {
	lines := []string{"DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, s := range all {
		lines = append(lines, s.help[0])
		for _, text := range s.help[1:] {
			lines = append(lines, "    "+text)
		}
	}
	lines = append(lines, "HELP", "    Prints this help.")
	c.Out.Array(len(lines))
	for _, line := range lines {
		c.Out.Simple(line)
	}
}

func replyError(c *call) error {
	c.Out.Error(string(c.args[0]))
	return nil
}

func logLine(c *call) error {
	c.host.Log("DEBUG LOG: " + string(c.args[0]))
	c.Out.OK()
	return nil
}

func setActiveExpiry(c *call) error {
	c.host.SetActiveExpiry(string(c.args[0]) != "0")
	c.Out.OK()
	return nil
}

// sleep holds everything up: that is what it is for.
func sleep(c *call) error {
	seconds, _ := resp.ParseFloat(c.args[0])
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	c.Out.OK()
	return nil
}
