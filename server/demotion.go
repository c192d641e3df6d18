package server

import (
	"lockserver/server/attach"
	"lockserver/store/due"
)

// demotion ends the waits with NOTIFY, and the grants that are not confirmed, when the server has become a
// replica. There may be a hundred thousand of them. So it ends a slice of them at once, and then one at a
// time as they are due, and other units run in between. A wait that gets a turn before that ends then.
type demotion struct {
	waits *waits // set with the timer
	timer due.Timer
	until uint64 // the number of the last wait
}

// endQueuedLater begins it.
func (ws *waits) endQueuedLater() {
	d := &ws.demotion
	d.timer.Of, d.waits, d.until = d, ws, ws.queues.Entered()
	for range dueBudget {
		if !d.endOne(ws) {
			return
		}
	}
	ws.timers.Set(&d.timer, ws.store.NowMS())
}

// Fire implements due.Firer.
func (d *demotion) Fire() {
	ws := d.waits
	if d.endOne(ws) {
		ws.timers.Set(&d.timer, ws.store.NowMS())
	}
}

// endOne ends one wait, or one grant; false: there is none left. All waits for locks that block their
// clients have ended before.
func (d *demotion) endOne(ws *waits) bool {
	// plant:demotion
	if w := ws.queues.Oldest(); w != nil && w.Number() <= d.until {
		ws.refuseQueued(w.Call().(*queuedWait), attach.Failover)
		return true
	}
	g := ws.grants.Any()
	if g == nil || !ws.follows {
		return false
	}
	ws.endGrant(g)
	return true
}
