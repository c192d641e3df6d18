package server

import (
	"errors"
	"sync/atomic"
	"time"

	"lockserver/internal/rusage"

	lua "github.com/yuin/gopher-lua"

	"lockserver/commands"
	"lockserver/internal/luavm"
	"lockserver/internal/resp"
)

// How a script runs. It is a unit like any other command: all of it sees one time, its effects are recorded
// together, who waits for what it changed is served when it is over. There is one machine for EVAL and one
// for functions, for only one script runs at a time; nothing that a script leaves behind in the first one can
// be seen by the next script, while libraries live in the second one.

// scripting is everything about scripts and functions. It is only touched under the executor, but for stop.
type scripting struct {
	cache     scriptCache
	libraries libraries
	evals     *scriptVM        // for EVAL; nil: to be made when it is needed
	functions *functionMachine // nil: to be made when it is needed
	run       *scriptRun
	caller    scriptCaller
	busy      scriptBusy
	stop      atomic.Bool // the server is about to end: a running script ends at once
}

// scriptCode is a script that was compiled.
type scriptCode = *luavm.Proto

// scriptVM is a machine of Lua.
type scriptVM struct {
	executor *executor
	state    *luavm.State
	// loading is the library whose code is being run by FUNCTION LOAD, nil at other times.
	loading *libraryLoad
}

// scriptRun is one run of a script or a function.
type scriptRun struct {
	vm       *scriptVM
	session  *session
	row      *commands.Row
	argv     [][]byte // the whole command
	name     string   // the script's SHA-1, or the function's name
	eval     bool     // a script and not a function
	readOnly bool
	allowOOM bool
	full     bool        // memory was full at the start
	wrote    bool        // a command that writes was called
	out      resp.Writer // the reply of a call; its version is the script's choice

	limitMS int64     // busy-reply-threshold; 0: there is none
	started time.Time // when the hook was first called, a moment after the beginning
	yielded time.Time // when others last had their turn
	killed  bool      // SCRIPT KILL or FUNCTION KILL
	// killedAt is where the script was when it noticed.
	killedAt struct {
		source string
		line   int
	}
	// fatal ends the script, which cannot prevent it.
	fatal error
}

func newScripting() scripting {
	return scripting{cache: newScriptCache(), libraries: newLibraries()}
}

// scriptCall is what EVAL and FCALL ask for.
type scriptCall struct {
	vm    *scriptVM
	name  string
	flags scriptFlags
	eval  bool
	ro    bool // an _RO command
}

// runScript makes a script or function, which do starts, the one that runs, and writes what it returns.
func (ex *executor) runScript(c *commands.Ctx, call scriptCall, do func(vm *scriptVM) (lua.LValue, error)) error {
	run, err := ex.startRun(c, call)
	if err != nil {
		return err
	}
	db, returned := run.session.db, false
	defer func() { // a panic of the machine passes, too
		run.session.db = db
		ex.endRun(run)
		if !returned || !call.vm.state.Usable() {
			ex.replaceMachine(call.vm)
		}
	}()
	v, err := do(call.vm)
	returned = true
	if err != nil {
		return scriptFailure(run, err)
	}
	writeReply(c.Out, v, run.out.Proto, 0)
	return nil
}

// startRun checks whether the script may run, and makes it the one that does.
func (ex *executor) startRun(c *commands.Ctx, call scriptCall) (*scriptRun, error) {
	s := sessionOf(c)
	full := ex.store.Full() && !ex.evicting
	if call.flags&scriptPlain == 0 {
		writes := call.flags&scriptNoWrites == 0
		switch {
		case !writes:
		case full && call.flags&scriptAllowOOM == 0:
			return nil, commands.ErrOutOfMemory
		case s.executor.refusesWrites() != nil:
			return nil, s.executor.refusesWrites()
		case call.ro:
			return nil, commands.ErrScriptReadOnly
		}
	}
	caller := &ex.scripts.caller
	run := &caller.run
	buf := run.out.Buf
	*run = scriptRun{vm: call.vm, session: s, row: c.Row, argv: c.Argv, name: call.name, eval: call.eval, full: full,
		limitMS:  s.executor.config.BusyReplyThresholdMS,
		readOnly: call.ro || call.flags&scriptNoWrites != 0,
		allowOOM: call.flags&scriptPlain == 0 && call.flags&scriptAllowOOM != 0}
	run.out = resp.Writer{Buf: buf[:0], Proto: 2}
	inner := &caller.ctx
	ex.prepare(inner, s, nil, nil)
	inner.Out, inner.MayBlock, inner.FromScript = &run.out, false, true
	ex.scripts.run = run
	return run, nil
}

// endRun is the end of a script, however it came.
func (ex *executor) endRun(run *scriptRun) {
	ex.scripts.run = nil
	if ex.scripts.busy.on {
		ex.endBusy(run)
	}
	if ex.scripts.stop.Load() || ex.failed != nil {
		ex.store.TakeEffects() // a unit that was cut off leaves no trace in the journal
	}
	run.session, run.argv = nil, nil
}

// replaceMachine makes another machine take the place of one that has failed inside. Libraries are loaded
// anew, so what they kept for themselves is lost.
func (ex *executor) replaceMachine(vm *scriptVM) {
	ex.log.Error("the machine that runs scripts failed inside; a new one takes its place")
	s := &ex.scripts
	if vm == s.evals {
		s.evals = nil
		return
	}
	codes := s.libraries.codes()
	s.libraries, s.functions = newLibraries(), nil
	for _, code := range codes {
		if _, err := ex.loadLibrary(&s.libraries, code, false, false); err != nil {
			ex.log.Error("a library could not be loaded anew", "cause", err)
		}
	}
}

// scriptFailure is what the client sees of a script that failed.
func scriptFailure(run *scriptRun, err error) error {
	var failed *luavm.Error
	if !errors.As(err, &failed) {
		if run.killed {
			return commands.ErrScriptFailed(err.Error(), run.name, run.killedAt.source, run.killedAt.line)
		}
		return err
	}
	return commands.ErrScriptFailed(failureText(failed.Value), run.name, failed.Source, failed.Line)
}

// failureText is the message in what a script has raised.
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

// processTime is the clock that scripts see as os.clock: the processor time of the whole server.
func processTime() time.Duration {
	user, sys := rusage.CPU()
	return time.Duration((user + sys) * float64(time.Second))
}
