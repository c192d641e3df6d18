package server

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/server/acl"
	"lockserver/server/durability"
)

// How a start fills the databases: durability reads the files, and the commands of a log run here.

// load fills the empty databases with what is on disk. When it returns nil the server is ready. The caller
// has locked the executor; load unlocks it.
func (ex *executor) load() error {
	defer ex.Mu.Unlock()
	ex.Begin()
	if err := ex.Durable.Load(); err != nil {
		return err
	}
	ex.Begin()
	if err := ex.Durable.EndLoad(); err != nil {
		return err
	}
	ex.replicate()
	ex.Store.ResetStats()
	ex.Ticker.Begin()
	return nil
}

// replayer runs the commands of a log as those of their clients ran. But nothing waits, no message is sent,
// and time stands still: only the log's own DEL removes a key. It implements durability.Replayer.
//
// It runs under the executor.
type replayer struct {
	executor *executor
	session  *session
	ctx      commands.Ctx
	// settings are those of the server, without the bounds that may be narrower
	// than when the log was written.
	settings commands.Settings
	passed   int // commands that were passed over
}

func (ex *executor) newReplayer() *replayer {
	s := ex.newSession(noConn{})
	s.obeyed, s.authenticated, s.loggedIn, s.User = true, true, true, acl.Everyone()
	return &replayer{executor: ex, session: s,
		settings: commands.Settings{MaxStringBytes: math.MaxInt64, LockWatchdogMS: ex.Settings.LockWatchdogMS}}
}

// Begin implements durability.Replayer.
func (r *replayer) Begin() { r.session.DB = r.executor.Store.DB(0) }

// Command implements durability.Replayer. Redis ignores the replies to the commands of a log. Here a command
// that fails, as it did when the log was written, is skipped as well, with a line in the server's log.
// An unknown command stops the start: the data would be other data.
func (r *replayer) Command(argv [][]byte) error {
	row, err := r.resolve(argv)
	if err != nil {
		return err
	}
	if row == nil {
		r.passOver(argv, "it changes no data")
		return nil
	}
	if err = r.run(row, argv); err != nil && failsInRedis(row, err) {
		r.passOver(argv, err.Error())
		return nil
	}
	return err
}

// failsInRedis reports whether a command failed because of the data that it met, or of what a script did, so
// that it fails in Redis, too. A wrong word may be a word of a later version, and an unknown script
// may write. A payload that is refused, and a database above the limit, were accepted when the log was
// written.
func failsInRedis(row *commands.Row, err error) bool {
	var text commands.Error
	if !errors.As(err, &text) {
		return row.Group == commands.Scripting
	}
	switch {
	case text == commands.ErrSyntax, text == commands.ErrInternal, text == commands.ErrNoSuchScript,
		text == commands.ErrDumpFormat, text == commands.ErrDumpPayload,
		text == commands.ErrDBIndex, text == commands.ErrFirstDB, text == commands.ErrSecondDB,
		strings.HasPrefix(string(text), string(commands.ErrCallUnknown)):
		return false
	case strings.HasPrefix(string(text), "ERR wrong number of arguments"), strings.HasPrefix(string(text), "ERR unknown"):
		return row.Group == commands.Scripting && row.Name == "load" // FUNCTION LOAD as 7.0's release candidates had it
	}
	return true
}

// mostPassed bounds how many commands that were passed over are logged.
const mostPassed = 100

// passOver says that a command was passed over.
func (r *replayer) passOver(argv [][]byte, why string) {
	if r.passed++; r.passed <= mostPassed {
		r.executor.Logger.Warn("a command was passed over", "command", fmt.Sprintf("%.40q", argv[0]), "cause", why, "passed-over", r.passed)
	}
}

// keptScripts are the commands about scripts that Redis 6 and older write into logs and send to replicas.
var keptScripts = []string{"script|load", "script|flush"}

// resolve finds the command that a log or a master means, or nil for a command that changes nothing.
func (r *replayer) resolve(argv [][]byte) (*commands.Row, error) {
	row, err := r.executor.original.Resolve(argv) // a log has the names that Redis gives
	if err != nil {
		return nil, &durability.UnknownCommandError{Name: fmt.Sprintf("%.40s", argv[0])}
	}
	if row.Flags&(commands.Write|commands.MayReplicate|commands.InLog) == 0 && !slices.Contains(keptScripts, row.FullName()) {
		return nil, nil
	}
	return row, nil
}

// run runs a command.
func (r *replayer) run(row *commands.Row, argv [][]byte) error {
	ex, c, s := r.executor, &r.ctx, r.session
	ex.Prepare(c, &s.Party, row, argv)
	c.Settings, c.MayBlock = &r.settings, false
	err := ex.Contain(row, func() error { return row.Run(c) })
	if err == nil && row.Group == commands.Scripting {
		r.lookAtReply(row)
	}
	s.Out.Buf = s.Out.Buf[:0]
	if cap(s.Out.Buf) > batchOutput {
		s.Out.Buf = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", row.FullName(), err)
	}
	return nil
}

// lookAtReply logs that a script has replied an error of its own accord. The script has run to its end, as it
// did when the command was written.
func (r *replayer) lookAtReply(row *commands.Row) {
	if reply := r.session.Out.Buf; len(reply) > 0 && reply[0] == '-' {
		if r.passed++; r.passed <= mostPassed {
			r.executor.Logger.Warn("a script has replied an error", "command", row.FullName(), "reply", fmt.Sprintf("%.200q", reply[1:]))
		}
	}
}

// durabilityHost is the executor as the log and the snapshots see it.
type durabilityHost struct{ executor *executor }

var _ durability.Program = durabilityHost{}

// Background implements durability.Program.
func (h durabilityHost) Background(f func()) { h.executor.host.background(f) }

// NewReplayer implements durability.Program.
func (h durabilityHost) NewReplayer() durability.Replayer { return h.executor.newReplayer() }

// Libraries implements durability.Program.
func (h durabilityHost) Libraries() [][]byte { return h.executor.scripts.Libraries() }

// LoadLibraries implements durability.Program.
func (h durabilityHost) LoadLibraries(code [][]byte, replace bool) error {
	return h.executor.scripts.LoadLibraries(code, replace)
}

// ReplaceLibraries implements durability.Program.
func (h durabilityHost) ReplaceLibraries(code [][]byte) error {
	return h.executor.scripts.ReplaceLibraries(code)
}

// DropLibraries implements durability.Program.
func (h durabilityHost) DropLibraries() { h.executor.scripts.DropLibraries() }
