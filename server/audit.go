package server

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
	"lockserver/store"
)

// What operators do is logged at notice, with the user, the address and the name of the client, and so is a
// refused password. Leases that ended are logged at verbose. No line has a password.

// audited are the commands that are logged. They change the server, users, code, other clients or much data
// at once, show what others do or all data, or remove what an operator could look at. Their rows run a
// wrapped handler: other commands cost nothing.
var audited = []string{
	"lock.force", "flushall", "flushdb", "swapdb", "migrate", "shutdown", "save", "bgsave", "bgrewriteaof",
	"replicaof", "slaveof", "failover", "monitor", "debug",
	"acl|setuser", "acl|deluser", "acl|load", "acl|save", "acl|log", "config|set", "config|rewrite", "config|resetstat",
	"client|kill", "client|pause", "client|unpause", "client|unblock",
	"function|load", "function|delete", "function|flush", "function|restore", "function|kill", "script|flush", "script|kill",
	"slowlog|reset", "commandlog|reset", "latency|reset",
	"raft|add", "raft|remove", "raft|transfer", "raft|snapshot", "raft|check", "raft|backup",
}

// auditedFirst are logged before they run, for they may not return.
var auditedFirst = []string{"shutdown", "debug"}

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

// The most lines a second of one kind. An unauthenticated client can cause failed logins, so those are few.
const (
	mostAuditLines, mostLoginLines = 100, 10
	// mostAuditFileLines is the same for the log of what operators do, which has a bound in bytes as well.
	mostAuditFileLines = 1000
	// mostAuditText bounds the words of a call, and a name that a client has given, in bytes.
	mostAuditText = 256
)

// lineLimit bounds how many lines of a kind the log gets in a second.
type lineLimit struct {
	second     int64
	lines      int
	suppressed int
}

// allow reports whether one more line may be written, and how many were not since the last one.
func (l *lineLimit) allow(now time.Time, most int) (suppressed int, ok bool) {
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

// auditLimits are those of one server.
type auditLimits struct{ commands, logins, leases, file lineLimit }

// withAudit wraps the handlers of the commands that are logged.
func withAudit(families [][]commands.Row) [][]commands.Row {
	out := make([][]commands.Row, len(families))
	for i, rows := range families {
		out[i] = slices.Clone(rows)
		for j := range out[i] {
			row := &out[i][j]
			row.Run = auditedRun(row.Name, row)
			row.Sub = slices.Clone(row.Sub)
			for k := range row.Sub {
				row.Sub[k].Run = auditedRun(row.Name+"|"+row.Sub[k].Name, &row.Sub[k])
			}
		}
	}
	return out
}

// auditedRun is the row's handler, if need be with a line in the log once it has succeeded.
func auditedRun(name string, row *commands.Row) func(*commands.Ctx) error {
	run, secrets := row.Run, row.Secrets
	switch {
	case !slices.Contains(audited, name):
		return run
	case slices.Contains(auditedFirst, name):
		return func(c *commands.Ctx) error {
			auditCommand(c, name, secrets)
			return run(c)
		}
	}
	return func(c *commands.Ctx) error {
		err := run(c)
		if err == nil {
			auditCommand(c, name, secrets)
		}
		return err
	}
}

// findSecrets finds the words of a call that are secret, as a row does.
type findSecrets func(args [][]byte, dst []int) []int

// auditCommand logs a command of a client: not one that a log, a master or the group brings.
func auditCommand(c *commands.Ctx, name string, secrets findSecrets) {
	s, ok := c.Session.(*session)
	if !ok || s.isMaster || onlyReads(name, c.Argv) {
		return
	}
	if _, replayed := s.conn.(noConn); replayed {
		return
	}
	ex := s.executor
	ex.auditTo("command", s, s.userName(), "command", name, "call", auditText(c, name, secrets))
	if suppressed, ok := ex.audit.commands.allow(time.Now(), mostAuditLines); ok {
		ex.log.Info("an operator's command was run", append([]any{"command", auditText(c, name, secrets)}, s.auditAttrs(suppressed)...)...)
	}
}

// auditText is the call as the log may have it.
func auditText(c *commands.Ctx, name string, secrets findSecrets) string {
	argv := slices.Clone(c.Argv)
	if secrets != nil && !strings.HasPrefix(name, "acl|") { // of ACL the names of users are to be seen
		for _, i := range secrets(argv, nil) {
			argv[i] = []byte("(redacted)")
		}
	}
	switch last := len(argv) - 1; {
	case name == "acl|setuser" && len(argv) > 3: // rules may hold passwords
		argv = [][]byte{argv[0], argv[1], argv[2], []byte("(redacted)")}
	case name == "function|load": // its first line names the library
		argv[last], _, _ = bytes.Cut(argv[last], []byte("\n"))
	case name == "function|restore":
		argv = argv[:2]
	}
	var b strings.Builder
	for i, word := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > mostAuditText {
			b.WriteString("...")
			break
		}
		b.WriteString(cutText(word))
	}
	return b.String()
}

// cutText is a client's text as far as the log takes it.
func cutText(text []byte) string {
	if len(text) > mostAuditText {
		return strings.ToValidUTF8(string(text[:mostAuditText]), "") + "..."
	}
	if !utf8.Valid(text) {
		return strings.ToValidUTF8(string(text), "?")
	}
	return string(text)
}

// auditAttrs tell of the client.
func (s *session) auditAttrs(suppressed int) []any {
	attrs := []any{"user", s.userName(), "address", s.info.addr, "client", cutText([]byte(s.info.name))}
	if suppressed > 0 {
		attrs = append(attrs, "not-logged-before", suppressed)
	}
	return attrs
}

// auditLogin logs that a client could not log in by a name.
func (s *session) auditLogin(name []byte) {
	ex := s.executor
	ex.auditTo("failed-login", s, cutText(name))
	suppressed, ok := ex.audit.logins.allow(time.Now(), mostLoginLines)
	if !ok {
		return
	}
	attrs := s.auditAttrs(suppressed)
	attrs[1] = cutText(name)
	ex.log.Info("a client could not log in: wrong name or password, or the user is off", attrs...)
}

// auditTo writes to the log of what operators do.
func (ex *executor) auditTo(event string, s *session, user string, attrs ...any) {
	if ex.opts.Audit == nil {
		return
	}
	suppressed, ok := ex.audit.file.allow(time.Now(), mostAuditFileLines)
	if !ok {
		return
	}
	attrs = append(attrs, "user", user, "address", s.info.addr, "client_id", s.id, "client", cutText([]byte(s.info.name)))
	if suppressed > 0 {
		attrs = append(attrs, "not_logged_before", suppressed)
	}
	ex.opts.Audit.Info(event, attrs...)
}

// levelVerbose is the level between debug and notice.
const levelVerbose = slog.LevelDebug / 2

// auditLease logs that the lease of a lock has ended, if the log takes such lines.
func (ex *executor) auditLease(db *store.DB, key []byte) {
	if !ex.log.Enabled(context.Background(), levelVerbose) {
		return
	}
	suppressed, ok := ex.audit.leases.allow(time.Now(), mostAuditLines)
	if !ok {
		return
	}
	attrs := []any{"key", cutText(key), "db", db.ID()}
	if suppressed > 0 {
		attrs = append(attrs, "not-logged-before", suppressed)
	}
	ex.log.Log(context.Background(), levelVerbose, "the lease of a lock has ended", attrs...)
}
