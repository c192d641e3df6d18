package server

import (
	"errors"
	"runtime"
	"strings"

	"lockserver/commands"
	"lockserver/persistence/rdb"
	"lockserver/server/acl"
	"lockserver/server/debug"
	"lockserver/server/script"
	"lockserver/server/topology"
)

// This file is script.Caller, the whole of it: what scripts ask of the server.

// scriptHost is the executor as the scripts see it.
type scriptHost struct{ executor *executor }

var _ script.Caller = scriptHost{}

// Show implements script.Caller.
func (h scriptHost) Show(c *commands.Ctx) {
	if len(h.executor.monitors) > 0 {
		h.executor.tellMonitors(sessionOf(c), c.Row, c.DB.ID(), c.Argv)
	}
}

// Call implements script.Caller.
func (h scriptHost) Call(c *commands.Ctx) (failed bool, err error) {
	ex, s := h.executor, sessionOf(c)
	c.DB = s.DB
	run := func() error { return ex.callContained(c, s) }
	if ex.Gauge.Timed[c.Row.Index()] {
		err = ex.countMeasured(nil, c.Row, c.Argv, run)
	} else {
		err = ex.CountNested(c.Row, run)
	}
	if len(ex.monitors) > 0 {
		ex.show(nil, c.Row, s.DB.ID(), c.Argv)
	}
	return ex.Failed != nil, err
}

// callContained runs a handler and contains its panic.
func (ex *executor) callContained(c *commands.Ctx, s *session) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ex.Panicked(c.Row, p)
		}
	}()
	if ex.tracking.InUse() {
		return ex.tracking.Run(c, s)
	}
	return c.Row.Run(c)
}

// Permit implements script.Caller.
func (h scriptHost) Permit(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	s := sessionOf(c)
	err := s.permit(row, argv, acl.InScript)
	if err == nil {
		return nil
	}
	return commands.ErrScriptDenied(strings.TrimPrefix(err.Error(), "NOPERM "))
}

// Permitted implements script.Caller.
func (h scriptHost) Permitted(c *commands.Ctx, row *commands.Row, argv [][]byte) bool {
	s := sessionOf(c)
	return h.executor.rights.Check(s.User, s.DB, row, argv).Reason == acl.Allowed
}

// Redirect implements script.Caller.
func (h scriptHost) Redirect(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	ex, s := h.executor, sessionOf(c)
	if ex.group == nil {
		return nil
	}
	if at := row.RoutedBy(); at > 0 && ex.Settings.OneSlot && row.Databases.Named == nil && ex.group.Leads(&s.place) && ex.group.ServesBeside(&ex.neighbor, argv[at]) {
		return nil
	}
	return topology.InScript(row.FullName(), s.redirect(row, argv, row.Flags))
}

// End implements script.Caller.
func (h scriptHost) End(c *commands.Ctx, stopped bool) {
	s, ex := sessionOf(c), h.executor
	s.DB = c.DB
	if stopped || ex.Failed != nil {
		ex.Store.TakeEffects() // a unit that was cut off leaves no trace in the journal
	}
	if stopped || ex.shutdown.ended() {
		ex.terminate(s) // as in Redis the client sees that the connection is closed, and no failed command
	}
}

// Lifts implements script.Caller.
func (h scriptHost) Lifts(row *commands.Row, argv [][]byte) bool {
	return h.executor.debug.scripts && row.Name == "debug" && debug.FitForScripts(argv)
}

// RefusesWrites implements script.Caller.
func (h scriptHost) RefusesWrites(c *commands.Ctx) error {
	if group := h.executor.group; group != nil && group.Follows(&sessionOf(c).place) {
		return commands.ErrReadOnly
	}
	return standing{h.executor}.refusesWriteInScript()
}

// Stale implements script.Caller.
func (h scriptHost) Stale() bool { return standing{h.executor}.stale() }

// Obeys implements script.Caller.
func (h scriptHost) Obeys(c *commands.Ctx) bool { return sessionOf(c).obeyed }

// CountError implements script.Caller.
func (h scriptHost) CountError(text string) { h.executor.Stats.Errors.Count(text) }

// CountRejected implements script.Caller.
func (h scriptHost) CountRejected(row *commands.Row) {
	h.executor.Stats.Of(row).Rejected++
}

// CountFailed implements script.Caller.
func (h scriptHost) CountFailed(row *commands.Row) {
	h.executor.Stats.Of(row).Failed++
}

// Full implements script.Caller.
func (h scriptHost) Full() bool { return h.executor.Memory.Pressure.BeganFull }

// Loading implements script.Caller.
func (h scriptHost) Loading() bool {
	return h.executor.Durable.Loading() && !h.executor.Durable.Serves()
}

// Yield implements script.Caller. The session's own event loop serves the other connections of that loop;
// other goroutines may get the executor's lock.
func (h scriptHost) Yield(c *commands.Ctx) (failed bool) {
	h.executor.Busy.On = true
	h.executor.WithoutLock(func() {
		sessionOf(c).output.Conn.WhileBusy()
		runtime.Gosched()
	})
	return h.executor.Failed != nil
}

// Idle implements script.Caller.
func (h scriptHost) Idle() {
	h.executor.Busy.On = false
	h.executor.Busy.Over.Broadcast()
}

// DumpLibraries implements script.Caller.
func (h scriptHost) DumpLibraries(sources [][]byte) []byte {
	return rdb.DumpFunctions(nil, sources, h.executor.config.RDBCompression)
}

// ParseLibraries implements script.Caller.
func (h scriptHost) ParseLibraries(payload []byte) ([][]byte, error) {
	if h.executor.Durable.Trusts() {
		payload = rdb.Reseal(payload)
	}
	sources, err := rdb.ParseFunctions(payload)
	switch {
	case err == nil:
		return sources, nil
	case errors.Is(err, rdb.ErrPayloadFooter):
		return nil, commands.ErrDumpPayload
	case errors.Is(err, rdb.ErrFunctionPreGA):
		return nil, commands.ErrFunctionPreGA
	case errors.Is(err, rdb.ErrNotFunction):
		return nil, commands.ErrFunctionPayload
	}
	return nil, commands.ErrFunctionBroken
}
