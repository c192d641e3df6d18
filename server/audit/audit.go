// Package audit logs the actions of operators: the commands that change the server, its users, its code or
// much data, refused passwords and refusals of ACL, at notice. Logins and the ends of leases are logged at
// verbose. No line contains a password.
//
// It owns the list of these commands, the text of a line, and the limit of lines in a second. It knows a
// client only as a Client. It must not know a session or the network.
//
// To log a further command, add its name to Commands. A test lists the dangerous commands that are not
// logged.
package audit

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockserver/commands"
	"lockserver/internal/ascii"
)

// Commands returns the names of the logged commands. They change the server, users, code, other clients or
// much data at once, show other clients' actions or all data, or remove data that an operator could inspect.
// Only their rows run a wrapped handler: other commands cost nothing.
func Commands() []string { return slices.Clone(audited) }

var audited = []string{
	"lock.force", "flushall", "flushdb", "swapdb", "migrate", "shutdown", "save", "bgsave", "bgrewriteaof",
	"replicaof", "slaveof", "failover", "monitor", "debug",
	"acl|setuser", "acl|deluser", "acl|load", "acl|save", "acl|log", "config|set", "config|rewrite", "config|resetstat",
	"client|kill", "client|pause", "client|unpause", "client|unblock",
	"function|load", "function|delete", "function|flush", "function|restore", "function|kill", "script|flush", "script|kill",
	"slowlog|reset", "commandlog|reset", "latency|reset",
	"raft|add", "raft|remove", "raft|transfer", "raft|snapshot", "raft|check", "raft|backup",
	"cluster|migrateslots", "cluster|cancelslotmigrations",
}

// auditedFirst lists commands that are logged before they run, even if they are then refused: they may not
// return, because they end the process or wait for a disk. CONFIG SET is treated in the same way if it opens
// a file.
var auditedFirst = []string{"shutdown", "debug", "save", "acl|load", "acl|save", "config|rewrite"}

// mayNotReturn reports whether a call is logged before it runs.
func mayNotReturn(name string, argv [][]byte, opensFile func(directive string) bool) bool {
	if name != "config|set" {
		return slices.Contains(auditedFirst, name)
	}
	for i := 2; i < len(argv); i += 2 {
		if opensFile(string(argv[i])) {
			return true
		}
	}
	return false
}

// debugReads are the subcommands of DEBUG that change nothing, and are not logged.
var debugReads = []string{"help", "digest", "digest-value", "object", "listpack", "quicklist", "stringmatch-len", "htstats", "htstats-key",
	"ziplist", "sdslen", "protocol"}

// onlyReads reports whether a call of an audited command changes nothing.
func onlyReads(name string, argv [][]byte) bool {
	switch name {
	case "debug":
		return slices.Contains(debugReads, strings.ToLower(string(argv[1])))
	case "acl|log":
		return len(argv) < 3 || !ascii.EqualFold(argv[2], "reset")
	}
	return false
}

// The limits of lines of one kind in a second. An unauthenticated client can cause failed logins, so that
// limit is low.
const (
	mostLines, mostLoginLines = 100, 10
	// mostFileLines is the same for the log of operators, which also has a limit in bytes.
	mostFileLines = 1000
	// mostText limits the words of a call, and a name that a client has given, in bytes.
	mostText = 256
	// mostRules limits the words of ACL SETUSER, so that no padding hides a rule that follows.
	mostRules = 16 << 10
)

// LineLimit limits the lines of a kind in a second of the log.
type LineLimit struct {
	second     int64
	lines      int
	suppressed int
}

// Allow reports whether another line may be written, and how many were suppressed since the last.
func (l *LineLimit) Allow(now time.Time, most int) (suppressed int, ok bool) {
	if second := now.Unix(); second != l.second {
		l.second, l.lines = second, 0
	}
	if l.lines >= most {
		l.suppressed++
		return 0, false
	}
	l.lines++
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}

// Client is the information about a client in a line.
type Client struct {
	ID               int64
	User, Addr, Name string
}

// attrs returns the attributes of the client.
func (c *Client) attrs(suppressed int) []any {
	attrs := []any{"user", c.User, "address", c.Addr, "client", cutText([]byte(c.Name))}
	if suppressed > 0 {
		attrs = append(attrs, "not-logged-before", suppressed)
	}
	return attrs
}

// Log writes the lines of one server. Nothing here locks; its owner does.
type Log struct {
	// Server is the server's log. Operators is a log only for actions of operators; it may be nil.
	Server, Operators *slog.Logger
	// Now returns the time by which lines are counted; nil: the system's time.
	Now func() time.Time

	commands, logins, leases, file, refusals, entries LineLimit
	// attempts have periods of a second; failures, the failed logins, have periods of a minute.
	attempts, failures attempts
}

// Runner is the server that runs a command.
type Runner interface {
	// Find returns the server's Log, and the client that sent the command. logged is false if a log, a master
	// or the group sent the command.
	Find(c *commands.Ctx) (l *Log, client Client, logged bool)
	// Later makes the server call over with the result of a waiting command, when the command has ended. It
	// returns false if the command does not wait.
	Later(c *commands.Ctx, over func(err error)) bool
}

// auditor logs the commands of a server.
type auditor struct{ runner Runner }

// Wrap returns the rows, with handlers that log for the logged commands. opensFile reports whether CONFIG SET
// opens a file for a directive.
func Wrap(families [][]commands.Row, runner Runner, opensFile func(directive string) bool) [][]commands.Row {
	out, a := make([][]commands.Row, len(families)), auditor{runner}
	for i, rows := range families {
		out[i] = slices.Clone(rows)
		for j := range out[i] {
			row := &out[i][j]
			row.Run = a.wrapped(row.Name, row, opensFile)
			row.Sub = slices.Clone(row.Sub)
			for k := range row.Sub {
				row.Sub[k].Run = a.wrapped(row.Name+"|"+row.Sub[k].Name, &row.Sub[k], opensFile)
			}
		}
	}
	return out
}

// wrapped returns the row's handler. For a logged command the handler writes a line: before the command runs
// if it may not return, and otherwise after it has succeeded. A command that waits may fail later: its result
// is then logged, because it may have changed the data.
func (a auditor) wrapped(name string, row *commands.Row, opensFile func(directive string) bool) func(*commands.Ctx) error {
	run, secrets := row.Run, row.Secrets
	if !slices.Contains(audited, name) {
		return run
	}
	return func(c *commands.Ctx) error {
		if mayNotReturn(name, c.Argv, opensFile) {
			a.called(c, name, secrets)(nil)
			return run(c)
		}
		err := run(c)
		if err != nil {
			return err
		}
		if over := a.called(c, name, secrets); !a.runner.Later(c, over) {
			over(nil)
		}
		return nil
	}
}

// findSecrets finds the secret words of a call, as a row does.
type findSecrets func(args [][]byte, dst []int) []int

// called returns a function that logs a command of a client with its result.
func (a auditor) called(c *commands.Ctx, name string, secrets findSecrets) func(err error) {
	if !onlyReads(name, c.Argv) {
		if l, client, logged := a.runner.Find(c); logged {
			call := callText(c, name, secrets)
			return func(err error) { l.command(&client, name, call, err) }
		}
	}
	return func(error) {}
}

// command logs a call of a command. err is its error, or nil.
func (l *Log) command(c *Client, name, call string, err error) {
	event, text := "command", "an operator's command was run"
	var cause []any
	if err != nil {
		event, text, cause = "failed-command", "an operator's command has failed", []any{"cause", cutText([]byte(err.Error()))}
	}
	l.toOperators(event, c, c.User, append([]any{"command", name, "call", call}, cause...)...)
	if suppressed, ok := l.commands.Allow(l.now(), mostLines); ok {
		l.Server.Info(text, append(append([]any{"command", call}, cause...), c.attrs(suppressed)...)...)
	}
}

// callText returns the call in the form of the log.
func callText(c *commands.Ctx, name string, secrets findSecrets) string {
	argv := slices.Clone(c.Argv)
	if secrets != nil && !strings.HasPrefix(name, "acl|") { // for ACL the names of users must be visible
		for _, i := range secrets(argv, nil) {
			argv[i] = []byte("(redacted)")
		}
	}
	most := mostText
	switch last := len(argv) - 1; {
	case name == "acl|setuser":
		most = mostRules
		hidePasswords(argv[3:])
	case name == "function|load": // the first line names the library
		argv[last], _, _ = bytes.Cut(argv[last], []byte("\n"))
	case name == "function|restore":
		argv = argv[:2]
	}
	var b strings.Builder
	for i, word := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > most {
			b.WriteString("...")
			break
		}
		b.WriteString(cutText(word))
	}
	return b.String()
}

// hidePasswords replaces passwords and password hashes in the rules of a user. Their first letter stays.
func hidePasswords(rules [][]byte) {
	for i, rule := range rules {
		if len(rule) > 0 && strings.IndexByte("><#!", rule[0]) >= 0 {
			rules[i] = append(rule[:1:1], "(redacted)"...)
		}
	}
}

// cutText returns a client's text, cut to the limit of the log.
func cutText(text []byte) string {
	if len(text) > mostText {
		return strings.ToValidUTF8(string(text[:mostText]), "") + "..."
	}
	if !utf8.Valid(text) {
		return strings.ToValidUTF8(string(text), "?")
	}
	return string(text)
}

// toOperators writes to the log of operators.
func (l *Log) toOperators(event string, c *Client, user string, attrs ...any) {
	if l.Operators == nil {
		return
	}
	suppressed, ok := l.file.Allow(l.now(), mostFileLines)
	if !ok {
		return
	}
	attrs = append(attrs, "user", user, "address", c.Addr, "client_id", c.ID, "client", cutText([]byte(c.Name)))
	if suppressed > 0 {
		attrs = append(attrs, "not_logged_before", suppressed)
	}
	l.Operators.Info(event, attrs...)
}

// LevelVerbose is the level between debug and notice.
const LevelVerbose = slog.LevelDebug / 2

// LeaseEnded logs that the lease of a lock has ended, if the log takes such lines.
func (l *Log) LeaseEnded(db int, key []byte) {
	if !l.Server.Enabled(context.Background(), LevelVerbose) {
		return
	}
	suppressed, ok := l.leases.Allow(l.now(), mostLines)
	if !ok {
		return
	}
	attrs := []any{"key", cutText(key), "db", db}
	if suppressed > 0 {
		attrs = append(attrs, "not-logged-before", suppressed)
	}
	l.Server.Log(context.Background(), LevelVerbose, "the lease of a lock has ended", attrs...)
}
