package script

import (
	"errors"
	"time"

	"lockserver/internal/lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
	"lockserver/internal/resp"
	"lockserver/server/cluster"
)

// execution is a run of a script or a function.
type execution struct {
	vm       *luaVM
	ctx      *commands.Ctx // of the command that runs the script
	name     string        // the script's SHA-1, or the function's name
	eval     bool          // it is a script, not a function
	readOnly bool
	allowOOM bool
	full     bool // memory was full at the start
	wrote    bool // a command that writes was called
	obeyed   bool // the master or a log has sent it
	oneSlot  bool // in a cluster: all keys must share a slot, though not all are declared
	keys     cluster.Keys

	started time.Time // when the hook was first called, a moment after the beginning
	yielded time.Time // the last turn of other clients; zero: it is not busy
	killed  bool      // ended by SCRIPT KILL or FUNCTION KILL
	stopped bool      // ended by StopUnlessWrote
	// killedAt is the position of the script at that time.
	killedAt struct {
		source string
		line   int
	}
	// fatal ends the script. The script cannot prevent it.
	fatal error
}

// invocation holds the parameters of EVAL and FCALL.
type invocation struct {
	vm       *luaVM
	name     string
	flags    flagSet
	eval     bool
	readOnly bool // an _RO command
}

// run makes the script or function that do starts the running one, and writes its result.
func (e *Engine) run(c *commands.Ctx, inv invocation, do func(vm *luaVM) (lua.Value, error)) error {
	run, err := e.begin(c, inv)
	if err != nil {
		return err
	}
	returned := false
	defer func() { // a panic of the Lua state passes through
		e.end(run)
		if !returned || !inv.vm.state.Usable() {
			e.replaceVM(inv.vm)
		}
	}()
	v, err := do(inv.vm)
	returned = true
	if err != nil {
		failure, counted := failureOf(run, err)
		if !counted || run.obeyed {
			return failure
		}
		c.Out.Error(failure.Error())
		e.host.CountFailed(c.Row)
		return nil
	}
	w := replyWriter{out: c.Out, proto: e.caller.out.Proto, host: e.host, row: c.Row}
	w.value(v, 0)
	return nil
}

// begin checks whether the script may run, and makes it the running script.
func (e *Engine) begin(c *commands.Ctx, inv invocation) (*execution, error) {
	obeyed := e.host.Obeys(c)
	full := !obeyed && e.host.Full()
	if !obeyed {
		if err := e.mayBegin(c, inv, full); err != nil {
			return nil, err
		}
	}
	run := &e.spare
	*run = execution{vm: inv.vm, ctx: c, name: inv.name, eval: inv.eval, full: full, obeyed: obeyed,
		readOnly: inv.readOnly || inv.flags&noWrites != 0,
		allowOOM: inv.flags&noShebang == 0 && inv.flags&allowOOM != 0,
		oneSlot:  c.Settings.OneSlot && !obeyed && inv.flags&(noShebang|allowCrossSlot) == 0}
	if run.oneSlot {
		run.touches(c.Row, c.Table, c.Argv)
	}
	caller := &e.caller
	caller.out = resp.Writer{Buf: caller.out.Buf[:0], Proto: 2}
	inner := &caller.ctx
	inner.Table, inner.Rand, inner.Session, inner.Host, inner.Queues, inner.Settings = c.Table, c.Rand, c.Session, c.Host, c.Queues, c.Settings
	inner.Out, inner.MayBlock, inner.FromScript = &caller.out, false, true
	e.running = run
	return run, nil
}

// touches adds the slots of the keys of a command that the script runs, or of those that the script declares.
func (run *execution) touches(row *commands.Row, table *commands.Table, argv [][]byte) {
	row.EachRouted(argv, func(pos int) { run.keys.Add(argv[pos]) })
	if refs, err := table.KeyRefs(row, argv, nil); err == nil {
		for _, ref := range refs {
			run.keys.Add(argv[ref.Pos])
		}
	}
}

// mayBegin returns the reason to refuse a script before it runs, or nil. Most reasons concern scripts that
// declare their behaviour in the first line. The calls of other scripts are checked one by one.
func (e *Engine) mayBegin(c *commands.Ctx, inv invocation, full bool) error {
	stale := e.host.Stale()
	switch {
	case inv.flags&noShebang != 0:
		if stale {
			return commands.ErrMasterDown
		}
		return nil
	case c.Settings.OneSlot && inv.flags&noCluster != 0:
		return commands.ErrScriptNoCluster
	case stale && inv.flags&allowStale == 0:
		return commands.ErrScriptStale
	case inv.flags&noWrites != 0:
		return nil
	}
	err := e.host.RefusesWrites(c)
	switch {
	case err == commands.ErrReadOnly:
		return commands.ErrScriptOnReplica
	case err != nil && err != commands.ErrNoReplicas && err != commands.ErrLoading:
		return commands.ErrScriptDisk(err)
	case inv.readOnly:
		return commands.ErrScriptReadOnly
	case err != nil:
		return err
	case full && inv.flags&allowOOM == 0:
		return commands.ErrScriptFull
	}
	return nil
}

// end ends a script, for any reason.
func (e *Engine) end(run *execution) {
	c := run.ctx
	e.running, run.ctx = nil, nil
	if run.busy() {
		e.endBusy(run)
	}
	e.host.End(c, run.stopped || e.stop.Load())
}

// failureOf returns the error of a failed script for the client. counted says that it is the error of a call,
// and was counted for the call.
func failureOf(run *execution, err error) (failure error, counted bool) {
	var failed *luavm.Error
	if !errors.As(err, &failed) {
		if run.killed {
			return commands.ErrScriptFailed(err.Error(), run.name, run.killedAt.source, run.killedAt.line), false
		}
		return err, false
	}
	table, _ := failed.Value.(*lua.LTable)
	return commands.ErrScriptFailed(failureText(failed.Value), run.name, failed.Source, failed.Line), table != nil && isCounted(table)
}

// failureText returns the message of a raised value.
func failureText(v lua.LValue) string {
	if t, ok := v.(*lua.LTable); ok {
		if text, ok := luaText(t.RawGetString("err")); ok {
			return untilZero(text)
		}
		return string(commands.ErrNoMessage)
	}
	text, ok := luaText(v)
	if !ok {
		text = v.String()
	}
	return "ERR " + untilZero(text)
}
