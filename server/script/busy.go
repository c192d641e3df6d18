package script

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/luavm"
)

// yieldEvery is the time between two turns of other clients during a busy script.
const yieldEvery = time.Millisecond

// hook is called by the Lua state regularly while a script runs; an error ends the script. A script that runs
// longer than the limit is busy: from then on the hook gives other clients a turn regularly.
func (vm *luaVM) hook() error {
	e := vm.engine
	run := e.running
	switch {
	case e.stop.Load():
		return commands.ErrScriptStopped
	case vm.loading != nil:
		return vm.loading.checkTime()
	case run == nil || e.limitMS == 0:
		return nil
	}
	now := time.Now()
	if run.started.IsZero() {
		run.started = now
	}
	if !run.busy() {
		if now.Sub(run.started) < time.Duration(e.limitMS)*time.Millisecond {
			return nil
		}
		e.logBusy(run, now)
	} else if now.Sub(run.yielded) < yieldEvery {
		return nil
	}
	run.yielded = now // set even if Yield panics: the host must learn of the end
	failed := e.host.Yield(run.ctx)
	run.yielded = time.Now()
	switch {
	case failed || run.stopped || e.stop.Load():
		return commands.ErrScriptStopped
	case run.killed:
		run.killedAt.source, run.killedAt.line = luavm.Position(vm.state.Lua().G.CurrentThread)
		return commands.ErrScriptKilled
	}
	return nil
}

// busy reports whether the run has exceeded the limit, and has given others a turn.
func (run *execution) busy() bool { return !run.yielded.IsZero() }

// logBusy logs that a script becomes busy.
func (e *Engine) logBusy(run *execution, now time.Time) {
	how := "SCRIPT KILL"
	if !run.eval {
		how = "FUNCTION KILL"
	}
	e.log.Warn("a script runs for long; "+how+" would end it", "script", run.name, "ms", now.Sub(run.started).Milliseconds())
}

// endBusy ends the state of a busy script.
func (e *Engine) endBusy(run *execution) {
	e.host.Idle()
	e.log.Info("the script that ran for long is over", "script", run.name, "ms", time.Since(run.started).Milliseconds())
}

// kill runs SCRIPT KILL, or FUNCTION KILL.
func (e *Engine) kill(c *commands.Ctx, eval bool) error {
	run := e.running
	switch {
	case run == nil:
		return commands.ErrNoScriptRuns
	case run.obeyed:
		return commands.ErrMasterScript
	case run.wrote:
		return commands.ErrUnkillable
	case run.eval != eval:
		return e.BusyError()
	}
	run.killed = true
	c.Out.OK()
	return nil
}
