package server

import "lockserver/server/attach"

// endQueuedLater begins it.
func (ex *executor) endQueuedLater() {
	d := &ex.demotion
	d.timer.Of, d.until = d, ex.queues.Entered()
	for range dueBudget {
		if !d.endOne(ex) {
			return
		}
	}
	ex.timers.set(&d.timer, ex.store.NowMS())
}

// fire implements firer.
func (d *demotion) fire(ex *executor) {
	if d.endOne(ex) {
		ex.timers.set(&d.timer, ex.store.NowMS())
	}
}

// endOne ends one wait, or one grant; false: there is none left. All waits for locks that block their
// clients have ended before.
func (d *demotion) endOne(ex *executor) bool {
	// plant:demotion
	if w := ex.queues.Oldest(); w != nil && w.Number() <= d.until {
		ex.refuseQueued(w.Call().(*queuedWait), attach.Failover)
		return true
	}
	g := ex.grants.Any()
	if g == nil || !ex.follows {
		return false
	}
	ex.endGrant(g)
	return true
}
