package server

import (
	"errors"
	"time"

	"lockserver/commands"
	"lockserver/server/debug"
	"lockserver/server/durability"
)

// This file is debug.Target, the whole of it: what DEBUG asks of the server.

// debugHost is the server as DEBUG of a session sees it.
type debugHost struct{ session *session }

var _ debug.Target = debugHost{}

// debugHostOf is the host of the session that runs a DEBUG.
func debugHostOf(c *commands.Ctx) debug.Target { return debugHost{sessionOf(c)} }

// Allowed implements debug.Target.
func (h debugHost) Allowed() bool { return h.session.mayDebug() }

// SetActiveExpiry implements debug.Target.
func (h debugHost) SetActiveExpiry(on bool) { h.session.executor.ExpiryPaused = !on }

// LetScriptsDebug implements debug.Target.
func (h debugHost) LetScriptsDebug(on bool) { h.session.executor.debug.scripts = on }

// CountLocks implements debug.Target.
func (h debugHost) CountLocks(on bool) { h.session.executor.Waits.LockEvents.Muted = !on }

// EachEvictable implements debug.Target.
func (h debugHost) EachEvictable(f func(bytes int)) bool {
	ex := h.session.executor
	if ex.Memory.Clients.Limit == 0 {
		return false
	}
	for _, s := range ex.clients {
		if !s.memory.Exempt {
			f(s.memory.Counted)
		}
	}
	return true
}

// Log implements debug.Target.
func (h debugHost) Log(text string) { h.session.executor.Logger.Warn(text) }

// Compresses implements debug.Target.
func (h debugHost) Compresses() bool { return h.session.executor.config.RDBCompression }

// Reload implements debug.Target.
func (h debugHost) Reload(r debug.Reload) error {
	ex := h.session.executor
	if ex.Durable.Loading() {
		return commands.ErrLoading
	}
	defer ex.Store.Renewals().Restore(ex.Store.Renewals().All())
	return ex.reloaded(ex.Durable.ReloadSnapshot(durability.Reload{KeepFile: r.NoSave, KeepData: r.NoFlush, Replace: r.Merge}),
		commands.ErrReload)
}

// ReloadLog implements debug.Target.
func (h debugHost) ReloadLog() error {
	ex := h.session.executor
	switch {
	case ex.Durable.Loading():
		return commands.ErrLoading
	case !ex.Durable.HasFiles():
		return commands.ErrNoLogFile
	}
	defer ex.Store.Renewals().Restore(ex.Store.Renewals().All())
	ex.Store.SetFollower(nil) // a replay moves no lock that is being renewed
	defer ex.Store.SetFollower(&ex.Waits.Watchdog)
	return ex.reloaded(ex.Durable.ReloadLog(), commands.ErrReloadLog)
}

// reloaded ends a reload; refusal is the reply if nothing could be loaded. Half of the data is as bad as
// none: the server stops, as Redis does.
func (ex *executor) reloaded(err error, refusal error) error {
	ex.boundMemory()
	switch {
	case errors.Is(err, durability.ErrHalfLoaded):
		ex.Fail(err)
		return refusal
	case errors.Is(err, durability.ErrNothingToLoad):
		ex.Logger.Warn("nothing was loaded", "cause", err)
		return refusal
	}
	return err
}

// TrustChecksums implements debug.Target.
func (h debugHost) TrustChecksums(on bool) { h.session.executor.Durable.Trust(on) }

// DelayLog implements debug.Target.
func (h debugHost) DelayLog(d time.Duration) { h.session.executor.Durable.DelayWrites(d) }

// SetUndo implements debug.Target.
func (h debugHost) SetUndo(on bool) { h.session.executor.Store.Undo().Enable(on) }

// PauseCron implements debug.Target.
func (h debugHost) PauseCron(on bool) { h.session.executor.debug.housePaused = on }

// ChangeReplicationID implements debug.Target.
func (h debugHost) ChangeReplicationID() {
	ex := h.session.executor
	ex.Logger.Info("Changing replication IDs after receiving DEBUG change-repl-id")
	ex.Replication.ChangeID()
}

// RewriteConfig implements debug.Target.
func (h debugHost) RewriteConfig() error {
	ex := h.session.executor
	if ex.opts.ConfigFile == "" {
		return commands.ErrForceRewrite("Bad address") // which C has for a path that is not there
	}
	if err := ex.config.RewriteFileWhole(ex.opts.ConfigFile); err != nil {
		return commands.ErrForceRewrite(err.Error())
	}
	return nil
}

// EachScript implements debug.Target.
func (h debugHost) EachScript(f func(sha, body string)) { h.session.executor.scripts.EachScript(f) }

// Script implements debug.Target.
func (h debugHost) Script(sha []byte) (body string, ok bool) {
	return h.session.executor.scripts.Script(sha)
}

// Crash implements debug.Target: no code contains this panic.
func (h debugHost) Crash(why string) { h.session.executor.Damaged(why) }
