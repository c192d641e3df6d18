package server

import (
	"runtime"
	"sync"
	"time"

	"lockserver/commands"
	"lockserver/internal/luavm"
)

// What happens while a script runs for longer than busy-reply-threshold. From then on its hook lets others in
// for a moment now and then: it lets go of the executor's lock, and what drives the session's own event loop
// looks after the other connections of that loop. They find the executor busy: nothing that touches the data
// may happen, for the script is in the middle of it. Clients get -BUSY, but for the few commands that are
// marked AllowBusy; everybody else who wants the executor waits in lockIdle until the script is over; and
// what an ended connection leaves to be done is put off.

// scriptBusy is the state of that. It is only touched under the executor.
type scriptBusy struct {
	on    bool
	over  *sync.Cond // told when the script is over
	later []func()   // what is put off until then
}

// yieldEvery is how often a busy script lets others in.
const yieldEvery = time.Millisecond

// lockIdle takes the executor's lock at a moment when no script is in the middle of its work.
func (ex *executor) lockIdle() {
	ex.mu.Lock()
	for ex.scripts.busy.on {
		ex.scripts.busy.over.Wait()
	}
}

// afterScript runs f, under the executor's lock and as a unit of its own: now, or when
// the script is over that is busy.
func (ex *executor) afterScript(f func()) {
	ex.mu.Lock()
	defer ex.damaging()
	if ex.scripts.busy.on {
		ex.scripts.busy.later = append(ex.scripts.busy.later, f)
		ex.mu.Unlock()
		return
	}
	ex.unlockUnit(f)
}

// hook is called by the machine now and then while a script runs; an error ends the script.
func (vm *scriptVM) hook() error {
	ex := vm.executor
	run := ex.scripts.run
	switch {
	case ex.scripts.stop.Load():
		return commands.ErrScriptStopped
	case vm.loading != nil:
		return vm.loading.checkTime()
	case run == nil || run.limitMS == 0:
		return nil
	}
	now := time.Now()
	if run.started.IsZero() {
		run.started = now
	}
	if !ex.scripts.busy.on {
		if now.Sub(run.started) < time.Duration(run.limitMS)*time.Millisecond {
			return nil
		}
		ex.beginBusy(run, now)
	} else if now.Sub(run.yielded) < yieldEvery {
		return nil
	}
	ex.yield(run)
	run.yielded = time.Now()
	switch {
	case ex.failed != nil || ex.scripts.stop.Load():
		return commands.ErrScriptStopped
	case run.killed:
		run.killedAt.source, run.killedAt.line = luavm.Position(vm.state.Lua().G.CurrentThread)
		return commands.ErrScriptKilled
	}
	return nil
}

// beginBusy is the moment from which on a script counts as one that takes too long.
func (ex *executor) beginBusy(run *scriptRun, now time.Time) {
	how := "SCRIPT KILL"
	if !run.eval {
		how = "FUNCTION KILL"
	}
	ex.log.Warn("a script runs for long; "+how+" would end it", "script", run.name, "ms", now.Sub(run.started).Milliseconds())
	ex.scripts.busy.on = true
}

// yield lets others in. Nobody but them changes anything meanwhile.
func (ex *executor) yield(run *scriptRun) {
	ex.mu.Unlock()
	defer ex.mu.Lock()
	run.session.transport.whileBusy()
	runtime.Gosched()
}

// endBusy is the end of a script that was busy.
func (ex *executor) endBusy(run *scriptRun) {
	busy := &ex.scripts.busy
	busy.on = false
	busy.over.Broadcast()
	ex.log.Info("the script that ran for long is over", "script", run.name, "ms", time.Since(run.started).Milliseconds())
}

// doLater does what was put off while a script was busy, after its unit.
func (ex *executor) doLater() {
	defer ex.damaging()
	later := ex.scripts.busy.later
	ex.scripts.busy.later = nil
	for _, f := range later {
		f()
		ex.endUnit()
	}
}

// busyError says that a script is busy, and how it can be ended.
func (ex *executor) busyError() error {
	if ex.scripts.run.eval {
		return commands.ErrBusyScript
	}
	return commands.ErrBusyFunction
}

// killScript is SCRIPT KILL, or FUNCTION KILL.
func killScript(c *commands.Ctx, eval bool) error {
	ex := sessionOf(c).executor
	run := ex.scripts.run
	switch {
	case run == nil:
		return commands.ErrNoScriptRuns
	case run.wrote:
		return commands.ErrUnkillable
	case run.eval != eval:
		return ex.busyError()
	}
	run.killed = true
	c.Out.OK()
	return nil
}
