package server

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockserver/commands"
	"lockserver/store"
)

// What operators do is logged at notice, with the user, the address and the name of the client, and so is a
// refused password. Leases that ended are logged at verbose. No line has a password.

// audited are the commands that are logged. Their rows run a wrapped handler: other commands cost nothing.
var audited = []string{
	"lock.force", "flushall", "flushdb", "swapdb", "shutdown", "replicaof", "slaveof", "failover",
	"acl|setuser", "acl|deluser", "acl|load", "config|set", "config|rewrite", "config|resetstat",
	"raft|add", "raft|remove", "raft|transfer", "raft|snapshot",
}

// The most lines a second of one kind. An unauthenticated client can cause failed logins, so those are few.
const (
	mostAuditLines, mostLoginLines = 100, 10
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
type auditLimits struct{ commands, logins, leases lineLimit }

// withAudit wraps the handlers of the commands that are logged.
func withAudit(families [][]commands.Row) [][]commands.Row {
	out := make([][]commands.Row, len(families))
	for i, rows := range families {
		out[i] = slices.Clone(rows)
		for j := range out[i] {
			row := &out[i][j]
			row.Run = auditedRun(row.Name, row.Run)
			row.Sub = slices.Clone(row.Sub)
			for k := range row.Sub {
				row.Sub[k].Run = auditedRun(row.Name+"|"+row.Sub[k].Name, row.Sub[k].Run)
			}
		}
	}
	return out
}

// auditedRun is run, if need be with a line in the log once it has succeeded. SHUTDOWN may not return.
func auditedRun(name string, run func(*commands.Ctx) error) func(*commands.Ctx) error {
	switch {
	case !slices.Contains(audited, name):
		return run
	case name == "shutdown":
		return func(c *commands.Ctx) error {
			auditCommand(c, name)
			return run(c)
		}
	}
	return func(c *commands.Ctx) error {
		err := run(c)
		if err == nil {
			auditCommand(c, name)
		}
		return err
	}
}

// auditCommand logs a command of a client: not one that a log, a master or the group brings.
func auditCommand(c *commands.Ctx, name string) {
	s, ok := c.Session.(*session)
	if !ok || s.isMaster {
		return
	}
	if _, replayed := s.conn.(nobody); replayed {
		return
	}
	ex := s.executor
	if suppressed, ok := ex.audit.commands.allow(time.Now(), mostAuditLines); ok {
		ex.log.Info("an operator's command was run", append([]any{"command", auditText(c, name)}, s.auditAttrs(suppressed)...)...)
	}
}

// auditText is the call as the log may have it.
func auditText(c *commands.Ctx, name string) string {
	argv := c.Argv
	switch {
	case name == "acl|setuser" && len(argv) > 3: // rules may hold passwords
		argv = [][]byte{argv[0], argv[1], argv[2], []byte("(redacted)")}
	case name == "config|set":
		argv = slices.Clone(argv)
		for _, i := range configSecrets(argv, nil) {
			argv[i] = []byte("(redacted)")
		}
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
	suppressed, ok := ex.audit.logins.allow(time.Now(), mostLoginLines)
	if !ok {
		return
	}
	attrs := s.auditAttrs(suppressed)
	attrs[1] = cutText(name)
	ex.log.Info("a client could not log in: wrong name or password, or the user is off", attrs...)
}

// levelVerbose is the level between debug and notice.
const levelVerbose = slog.LevelDebug / 2

// followLeases has the store tell of leases that end, if the log wants to know.
func (ex *executor) followLeases() {
	ex.store.OnLeaseEnd(nil)
	if ex.log.Enabled(context.Background(), levelVerbose) {
		ex.store.OnLeaseEnd(ex.auditLease)
	}
}

// auditLease logs that the lease of a lock has ended.
func (ex *executor) auditLease(db *store.DB, key []byte) {
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
