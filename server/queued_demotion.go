package server

import "lockserver/server/attach"

// demotion ends the waits with NOTIFY, and the grants that are not confirmed, when the server has become a
// replica. There may be a hundred thousand of them. So it ends a slice of them at once, and then one at a
// time as they are due, and other units run in between. A wait that gets a turn before that ends then.
type demotion struct {
	timer timer
	until uint64 // the number of the last wait
}

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
