package debug

import (
	"slices"
	"time"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/resp"
)

// Target is the server, as far as DEBUG needs it.
type Target interface {
	// Allowed reports whether enable-debug-command allows DEBUG for the client.
	Allowed() bool
	// SetActiveExpiry sets whether expired keys are removed by themselves.
	SetActiveExpiry(on bool)
	// LetScriptsDebug sets whether scripts may call subcommands that are FitForScripts.
	LetScriptsDebug(on bool)
	// EachEvictable calls f with the memory of each client that maxmemory-clients may evict. It returns false
	// if there is no limit.
	EachEvictable(f func(bytes int)) bool
	// Log writes a line to the server's log.
	Log(text string)
	// Compresses reports whether the server's files are compressed (rdbcompression).
	Compresses() bool

	// Reload replaces the data by the snapshot, or adds the snapshot to it. The error is for the client.
	Reload(r Reload) error
	// ReloadLog replaces the data by that of the append-only log. The error is for the client.
	ReloadLog() error
	// TrustChecksums sets whether snapshots and payloads are accepted even with a wrong checksum.
	TrustChecksums(on bool)
	// DelayLog delays every write of the append-only log.
	DelayLog(d time.Duration)
	// CountLocks sets whether figures and the history of locks are kept.
	CountLocks(on bool)
	// SetUndo sets whether a leader of a group that is deposed can undo what is not committed.
	SetUndo(on bool)
	// PauseCron sets whether the work of every second is left out.
	PauseCron(on bool)

	// ChangeReplicationID changes the name of the server's history.
	ChangeReplicationID()
	// RewriteConfig writes every directive to the configuration file.
	RewriteConfig() error
	// EachScript calls f with the name and text of each script that EVALSHA knows.
	EachScript(f func(sha, body string))
	// Script returns the text of a script by its name.
	Script(sha []byte) (body string, ok bool)
	// Crash ends the process as a panic does, without saving.
	Crash(why string)
}

// Reload holds the options of DEBUG RELOAD. The zero value saves, removes all data, and loads it.
type Reload struct {
	NoSave  bool // the existing file is loaded
	NoFlush bool // the data in memory stays
	Merge   bool // a key of the file replaces an existing key
}

// call is a call of DEBUG: its context, the words after the subcommand, and the server.
type call struct {
	*commands.Ctx
	args [][]byte
	host Target
}

// subcommand is a subcommand of DEBUG. Like its counterpart in Redis it has no commands.Row, so completion
// and COMMAND do not show it.
type subcommand struct {
	name        string
	least, most int // limits of the number of words after it
	run         func(c *call) error
	help        []string // as in Redis' HELP: the call, then its effect
}

// Rows returns the commands of this package. hostOf finds the server that runs a command, for the client that
// sent it.
func Rows(hostOf func(c *commands.Ctx) Target) []commands.Row {
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
	return slices.Concat(switches(), []subcommand{
		{"client-eviction", 0, 0, clientSizes, []string{"CLIENT-EVICTION", "Tells how many clients take how much, with maxmemory-clients."}},
		{"digest", 0, 0, digestOf, []string{"DIGEST", "Returns the digest of all data."}},
		{"digest-value", 0, any, digestValues, []string{"DIGEST-VALUE [<key> ...]", "Returns the digest of each key's value."}},
		{"error", 1, 1, replyError, []string{"ERROR <string>", "Replies with an error of these words."}},
		{"htstats", 1, any, htStats, []string{"HTSTATS <dbid> [full]", "Tells of a database's tables."}},
		{"htstats-key", 1, any, htStatsOfKey, []string{"HTSTATS-KEY <key> [full]", "Tells of the table of a key's value."}},
		{"listpack", 1, 1, listpackOf, []string{"LISTPACK <key>", "Writes the listpack of a key's value into the log."}},
		{"log", 1, 1, logLine, []string{"LOG <message>", "Writes a line into the log."}},
		{"loadaof", 0, 0, loadLog, []string{"LOADAOF", "Writes the append-only log out, forgets all data, and reads the log."}},
		{"object", 1, 1, object, []string{"OBJECT <key>", "Tells how a key's value is kept."}},
		{"populate", 1, 3, populate, []string{"POPULATE <count> [<prefix>] [<size>]",
			"Makes keys <prefix>:0, <prefix>:1 ..., by default key:0 ..., that are not there, with values of <size> bytes."}},
		{"protocol", 1, 1, protocol, []string{"PROTOCOL <type>", "Replies with a value of a type: string, integer, double, bignum, null,",
			"array, set, map, attrib, push, verbatim, true or false."}},
		{"quicklist", 1, 2, quicklistOf, []string{"QUICKLIST <key> [<0|1>]", "Writes the nodes of a list into the log; with 1, what they hold."}},
		{"reload", 0, any, reload, []string{"RELOAD [NOSAVE] [NOFLUSH] [MERGE]", "Saves a snapshot, forgets all data, and loads the snapshot.",
			"NOSAVE: what the file holds already is loaded. NOFLUSH: what is in memory stays; a key that is in both ends the server,",
			"unless MERGE lets the file's take its place."}},
		{"script", 1, 1, scripts, []string{"SCRIPT <LIST|<sha>>", "Writes all scripts, or one, into the log."}},
		{"sdslen", 1, 1, sizes, []string{"SDSLEN <key>", "Tells the lengths of a key and of its string."}},
		{"sleep", 1, 1, sleep, []string{"SLEEP <seconds>", "Stops the server for a time."}},
		{"stringmatch-test", 0, 0, matchTest, []string{"STRINGMATCH-TEST", "Tries random patterns on random strings."}},
	})
}

// help writes the descriptions of the subcommands, in the form of HELP of a container.
func help(c *call, all []subcommand) {
	lines := []string{"DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, s := range all {
		if s.help == nil { // described together with another subcommand
			continue
		}
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

// sleep blocks the whole server on purpose.
func sleep(c *call) error {
	seconds, _ := resp.ParseFloat(c.args[0])
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	c.Out.OK()
	return nil
}
