package script

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"lockserver/commands"
)

// Engine holds the scripts and functions of one server.
type Engine struct {
	host          Caller
	log           *slog.Logger
	version       string
	versionNumber int
	collect       func()

	cache     cache
	libraries libraries
	scripts   *luaVM      // for EVAL; nil: not made yet
	functions *functionVM // nil: not made yet

	running *execution // the running script, or nil
	spare   execution  // the memory of running
	caller  caller
	limitMS int64       // the running time after which a script is busy; 0: never
	stop    atomic.Bool // the server is about to end: a running script ends at once
}

// Options configures an engine.
type Options struct {
	Host Caller
	Log  *slog.Logger
	// Version is the version of Redis that scripts see.
	Version string
	// Collect starts a garbage collection without waiting for it, because a script has made much garbage. It
	// may be nil.
	Collect func()
}

// New returns an engine without scripts and libraries, and without a time limit until SetTimeLimit.
func New(o Options) *Engine {
	return &Engine{host: o.Host, log: o.Log, version: o.Version, versionNumber: versionNumber(o.Version), collect: o.Collect,
		cache: newCache(), libraries: newLibraries()}
}

// versionNumber returns a version as a number: a byte each for major, minor and patch.
func versionNumber(version string) int {
	n := 0
	for part := range strings.SplitSeq(version, ".") {
		digit, _ := strconv.Atoi(part)
		n = n<<8 | digit
	}
	return n
}

// RunsFor reports whether a script or function is running that has word as an argument.
func (e *Engine) RunsFor(word string) bool {
	return e.running != nil && slices.ContainsFunc(e.running.ctx.Argv[1:], func(arg []byte) bool { return string(arg) == word })
}

// SetTimeLimit sets the running time after which a script is busy, and gives others a turn regularly
// (busy-reply-threshold); 0 means never.
func (e *Engine) SetTimeLimit(ms int64) { e.limitMS = ms }

// BusyError returns the reply to other clients while a script is busy; it says how to end the script.
func (e *Engine) BusyError() error {
	if e.running.eval {
		return commands.ErrBusyScript
	}
	return commands.ErrBusyFunction
}

// StopUnlessWrote ends the busy script, because the server is about to end. A script that has written, or
// that comes from the master or a log, runs to its end.
func (e *Engine) StopUnlessWrote() { e.running.stopped = !e.running.wrote && !e.running.obeyed }

// Stop ends the running script and every later script at once, because the server ends. It needs no lock.
func (e *Engine) Stop() { e.stop.Store(true) }

// Admit decides whether the running script may call a command, and records that the script writes.
func (e *Engine) Admit(row *commands.Row) error {
	if row.Flags&commands.NoScript != 0 {
		return commands.ErrNoScript
	}
	if err := e.admitStale(row); err != nil {
		return err
	}
	return e.admitEffect(row)
}

// admitStale refuses commands that the running script may not call while the data may be old.
func (e *Engine) admitStale(row *commands.Row) error {
	if !row.Flags.Has(commands.Stale) && !e.running.obeyed && e.host.Stale() {
		return commands.ErrCallStale
	}
	return nil
}

// admitEffect does what Admit does, without checking whether scripts may call the command at all.
func (e *Engine) admitEffect(row *commands.Row) error {
	run, flags := e.running, row.Flags
	switch {
	case run.readOnly && flags&(commands.Write|commands.MayReplicate) != 0:
		return commands.ErrCallReadOnly
	case run.wrote: // it may continue to write in any case, so that it never stays half done
		return nil
	}
	if flags&commands.Write != 0 && !run.obeyed {
		if err := e.host.RefusesWrites(&e.caller.ctx); err != nil {
			return err
		}
	}
	if flags&commands.DenyOOM != 0 && run.full && !run.allowOOM {
		return commands.ErrOutOfMemory
	}
	run.wrote = flags&commands.Write != 0
	return nil
}

// Flags returns the row's flags. For a command that runs a script with a first line about itself, it returns
// the flags that follow from that line.
func (e *Engine) Flags(row *commands.Row, argv [][]byte) commands.Flags {
	says := noShebang
	switch row.Code {
	case commands.ScriptText:
		if flags, _, err := readFlags(argv[1]); err == nil {
			says = flags
		}
	case commands.ScriptSHA1:
		if script := e.cache.find(argv[1]); script != nil {
			says = script.flags
		}
	case commands.FunctionName:
		if f := e.libraries.find(argv[1]); f != nil {
			says = f.flags
		}
	}
	if says&noShebang != 0 {
		return row.Flags
	}
	flags := row.Flags &^ (commands.Write | commands.DenyOOM | commands.Stale | commands.MayReplicate)
	if says&noWrites == 0 {
		flags |= commands.Write
	}
	if says&(noWrites|allowOOM) == 0 {
		flags |= commands.DenyOOM
	}
	if says&allowStale != 0 {
		flags |= commands.Stale
	}
	return flags
}

// Counts holds the numbers of scripts, libraries and functions.
type Counts struct {
	Scripts, Libraries, Functions int
	Evicted                       int64 // number of scripts removed because of the limits
}

// Counts returns how many scripts are cached, and how many libraries and functions are loaded.
func (e *Engine) Counts() Counts {
	return Counts{len(e.cache.bySHA), len(e.libraries.byName), len(e.libraries.functions), e.cache.evicted}
}

// EachScript calls f with the name and text of each script that EVALSHA knows.
func (e *Engine) EachScript(f func(sha, body string)) {
	for sha, script := range e.cache.bySHA {
		f(sha, script.body)
	}
}

// Script returns the text of a script by its name.
func (e *Engine) Script(sha []byte) (body string, ok bool) {
	if script := e.cache.find(sha); script != nil {
		return script.body, true
	}
	return "", false
}

// ForgetCounts sets the counts to zero (CONFIG RESETSTAT).
func (e *Engine) ForgetCounts() { e.cache.evicted = 0 }

// Forget removes all scripts. DropLibraries removes the libraries.
func (e *Engine) Forget() { e.cache, e.scripts = newCache(), nil }

// Libraries returns the code of the libraries, for saving them.
func (e *Engine) Libraries() [][]byte { return e.libraries.codes() }

// LoadLibraries loads the libraries of a file. They were loaded before, so an error means that the file is
// damaged, or that a library with the same name exists, which replace allows.
func (e *Engine) LoadLibraries(sources [][]byte, replace bool) error {
	for _, source := range sources {
		if _, err := e.loadLibrary(&e.libraries, source, replace, false); err != nil {
			return err
		}
	}
	return nil
}

// ReplaceLibraries replaces all libraries by the given code. After an error nothing has changed.
func (e *Engine) ReplaceLibraries(sources [][]byte) error {
	were, machine := e.libraries, e.functions
	e.DropLibraries()
	err := e.LoadLibraries(sources, false)
	if err != nil {
		e.libraries, e.functions = were, machine
	}
	return err
}

// DropLibraries removes all libraries.
func (e *Engine) DropLibraries() { e.libraries, e.functions = newLibraries(), nil }
