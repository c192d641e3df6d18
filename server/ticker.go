package server

import (
	"runtime"
	"time"

	"lockserver/commands"
	"lockserver/store/due"
)

const (
	// dueBudget is how many keys or timers one slice works off: well below a millisecond.
	dueBudget = 256
	// slicesPerBreath is after how many slices the ticker rests for a moment. Only then is it certain that an
	// event loop on another thread gets the executor: one that was woken because the lock was let go finds it
	// taken again by the time it runs. Without it a million keys that die together kept requests waiting for
	// 250 ms; with a rest after every slice they took twice as long to die.
	slicesPerBreath = 4
	// longestSleepMS bounds a sleep, so that a wall clock that is set forwards is noticed.
	longestSleepMS = 1000
)

// runDue works off everything that has fallen due, in slices between which others get their turn.
func (ex *executor) runDue() {
	for slices := 1; ; slices++ {
		ex.lockIdle()
		if ex.failed != nil {
			ex.mu.Unlock()
			return
		}
		ex.begin()
		more := ex.dueSlice()
		touched := ex.end()
		ex.mu.Unlock()
		kick(touched, nil)
		switch {
		case !more:
			return
		case slices%slicesPerBreath == 0:
			breathe()
		default:
			runtime.Gosched()
		}
	}
}

// dueSlice does one slice and says whether there is more to do. Timers come first: a lease that is renewed in
// the millisecond in which it ends goes on.
func (ex *executor) dueSlice() (more bool) {
	now := ex.store.NowMS()
	more = ex.watchdog.timers.fireDue(ex, now, dueBudget)
	more = ex.timers.fireDue(ex, now, dueBudget) || more
	ex.endUnit()
	more = ex.endHolds() || more
	if ex.evicting {
		ex.evict()
		more = more || ex.evicting
	}
	if !ex.expiryPaused {
		more = ex.expireDue(dueBudget) || more
		ex.endUnit()
	}
	return more
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

// nextDueUS implements timeWatcher.
func (ex *executor) nextDueUS() (int64, bool) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	at, ok := ex.nextMS()
	return at * 1000, ok && ex.failed == nil
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

// tick is the ticker's goroutine: it sleeps until the next deadline, or until it is poked because there is an
// earlier one.
func (ex *executor) tick(stop <-chan struct{}) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ex.poke:
		case <-alarm.C:
			ex.runDue()
		}
		alarm.Reset(ex.sleep())
	}
}

// sleep decides how long the ticker may sleep and notes it for arm.
func (ex *executor) sleep() time.Duration {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	nowUS := ex.clock.NowUS()
	ex.armedMS = nowUS/1000 + longestSleepMS
	if at, ok := ex.nextMS(); ok && at < ex.armedMS {
		ex.armedMS = at
	}
	return max(0, time.Duration(ex.armedMS*1000-nowUS)*time.Microsecond)
}

// holdsBudget is how many holds one slice ends: each takes back a whole order, so
// there are fewer than of timers.
const holdsBudget = 128

// endHolds takes back the orders of sales whose time to be confirmed is over, as a unit of its own, and says
// whether there may be more. When the next hold ends, store.NextHoldMS tells the ticker.
func (ex *executor) endHolds() (more bool) {
	if !ex.store.HoldsDue() || ex.failed != nil || ex.loading != nil {
		return false
	}
	// To contain a panic it is the command that does the same for a client.
	_ = ex.contain(ex.table.Lookup([]byte("seckill.cancel")), func() error {
		c := &commands.Ctx{Table: ex.table, DB: ex.store.DB(0), Rand: ex.rand, Host: ex, Settings: &ex.settings}
		more = commands.EndHolds(c, ex.store, holdsBudget)
		return nil
	})
	ex.endUnit()
	return more && ex.failed == nil
}

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
