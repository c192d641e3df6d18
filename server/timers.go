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
