package server

import "lockserver/store/due"

// firer is what happens at a time unless it is stopped first: a waiter's deadline, a watchdog's renewal.
type firer interface {
	// fire runs under the executor.
	fire(ex *executor)
}

// timer is a firer's place in time.
type timer = due.Item[firer]

// timers is the ordered index of all timers. It is only touched under the executor.
type timers struct{ queue due.Queue[firer] }

// set makes t fire at atMS, moving it if it is set already.
func (ts *timers) set(t *timer, atMS int64) { ts.queue.Set(t, atMS) }

// stop takes t back; it does nothing if t is not set.
func (ts *timers) stop(t *timer) { ts.queue.Remove(t) }

// nextMS returns a time before which no timer fires.
func (ts *timers) nextMS() (int64, bool) { return ts.queue.NextMS() }

// fireDue fires timers whose time has come, earliest first, and says whether there may be
// more. budget bounds the work.
func (ts *timers) fireDue(ex *executor, nowMS int64, budget int) (more bool) {
	for budget > 0 {
		t := ts.queue.Pop(nowMS, &budget)
		if t == nil {
			break
		}
		t.Of.fire(ex)
		budget--
	}
	return budget == 0
}

// nextMS returns when something falls due, in milliseconds since 1970.
func (ex *executor) nextMS() (int64, bool) {
	at, ok := ex.timers.nextMS()
	if renewal, has := ex.watchdog.timers.nextMS(); has && (!ok || renewal < at) {
		at, ok = renewal, true
	}
	if key, has := ex.store.NextDeadlineMS(); has && !ex.expiryPaused && (!ok || key < at) {
		at, ok = key, true
	}
	if hold, has := ex.store.NextHoldMS(); has && (!ok || hold < at) {
		at, ok = hold, true
	}
	if ex.evicting {
		at, ok = ex.store.NowMS(), true
	}
	return at, ok
}

// arm wakes the ticker if something now falls due before it would wake by itself.
func (ex *executor) arm() {
	at, ok := ex.nextMS()
	if !ok || at >= ex.armedMS {
		return
	}
	ex.armedMS = at
	select {
	case ex.poke <- struct{}{}:
	default:
	}
}
