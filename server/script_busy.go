package server

import "sync"

// What happens around a busy script, one that runs for longer than busy-reply-threshold. It lets others have
// the executor's lock for a moment now and then. They find the executor busy: nothing that touches the data
// may happen, for the script is in the middle of it. Clients get -BUSY, but for the few commands that are
// marked AllowBusy; everybody else who wants the executor waits in lockIdle until the script is over; and
// what an ended connection leaves to be done is put off.

// busy says whether a script is busy, and what waits for its end. It is only touched under the executor.
type busy struct {
	on    bool
	over  *sync.Cond // told when the script is over
	later []func()   // what is put off until then
}

// lockIdle takes the executor's lock at a moment when no script is in the middle of its work.
func (ex *executor) lockIdle() {
	ex.mu.Lock()
	for ex.busy.on {
		ex.busy.over.Wait()
	}
}

// afterScript runs f, under the executor's lock and as a unit of its own: now, or when
// the script is over that is busy.
func (ex *executor) afterScript(f func()) {
	ex.mu.Lock()
	defer ex.damaging()
	if ex.busy.on {
		ex.busy.later = append(ex.busy.later, f)
		ex.mu.Unlock()
		return
	}
	ex.unlockUnit(f)
}

// doLater does what was put off while a script was busy, after its unit.
func (ex *executor) doLater() {
	defer ex.damaging()
	later := ex.busy.later
	ex.busy.later = nil
	for _, f := range later {
		f()
		ex.endUnit()
	}
}
