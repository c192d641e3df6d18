package server

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/histogram"
	"lockserver/server/info"
	"lockserver/server/wait"
	"lockserver/store"
)

// What happens by itself: keys with a deadline in the past go, orders of sales that were not confirmed are
// taken back, delayed entries are added to their streams, and keys go because memory is full. Each is worked
// off in slices.

// endLeases lets keys die at their deadlines before commands look at them. The caller has found waiters. A
// command that found one first would be answered between the end of a lease and the grant to the next
// waiter, a moment that no client may see.
func (ex *executor) endLeases() {
	if ex.debug.expiryPaused || !ex.endsThings() {
		return
	}
	if at, ok := ex.store.NextDeadlineMS(); ok && at <= ex.store.NowMS() {
		ex.expireDue(wait.DueBudget)
	}
}

// alarmBudget is how many holds, and how many delayed entries, one slice works off. A hold takes back a whole
// order, so the number is smaller than that of timers.
const alarmBudget = 128

// fireAlarms takes back the orders of sales that were not confirmed in time. Then it adds delayed entries
// (DELAY.ADD) that are due to their streams. Each kind is a unit of its own. The result says whether there
// may be more. While the log cannot be written, no entry is added: it would be added again after a restart.
//
// It is called in each slice: by the ticker, and before the first command of a client. So a command finds the
// stock that is free by now.
func (ex *executor) fireAlarms() (more bool) {
	held, due := ex.store.AlarmDue(store.HoldAlarm), ex.store.AlarmDue(store.DelayAlarm)
	if !held && !due || !ex.endsThings() || ex.failed != nil || ex.durable.Loading() {
		return false
	}
	defer ex.damaging()
	c := &commands.Ctx{Table: ex.table, DB: ex.store.DB(0), Rand: ex.rand, Host: services{ex}, Queues: ex.waits.Queues, Settings: &ex.settings}
	if held {
		more = commands.EndHolds(c, ex.store, alarmBudget)
		ex.endUnit()
	}
	if due && ex.durable.Broken() == nil {
		more = commands.FireDelayed(c, ex.store, alarmBudget, ex.counts.delayed.firing(ex.store.NowUS())) || more
		ex.endUnit()
	}
	return more && ex.failed == nil
}

// expireDue removes keys with a deadline in the past, and records how long that took. budget bounds the work:
// a key counts as 1, and the end of a wait as outcomeCost. So while there are waiters it is done in steps.
// Each step is a unit.
func (ex *executor) expireDue(budget int) (more bool) {
	var took time.Duration
	for more = true; more && budget > 0; {
		step := budget
		if ex.waits.Queues.Len() > 0 {
			step = min(step, expiryStep)
		}
		start, spent := time.Now(), ex.waits.Spent()
		more = ex.store.ExpireDue(step)
		took += time.Since(start)
		ex.endUnit()
		budget -= step + ex.waits.Spent() - spent
	}
	ex.counts.expiry += took
	if more {
		ex.counts.expiryCapped++
	}
	ex.stats.Events.Add("expire-cycle", ex.store.NowUS()/1_000_000, took.Milliseconds())
	return more
}

// expiryStep is how many keys expire in one unit while there are waiters.
const expiryStep = 16

// evict frees memory for one slice's time, as a unit of its own: waiters for a key that went are served.
// It reports whether memory is within its bound or may soon be; the ticker goes on with what a slice leaves.
// As in Redis nothing goes under CLIENT PAUSE.
func (ex *executor) evict() bool {
	if ex.pausing.UntilMS != 0 {
		ex.memory.Pressure.Evicting = false
		return true
	}
	defer ex.damaging()
	most := ex.memory.Pressure.MostEvictions
	removed := ex.store.Evict(most)
	full := ex.store.Full()
	ex.memory.Pressure.Evicting = full && removed == most
	if removed > 0 {
		ex.endUnit()
	}
	if full {
		ex.memory.Pressure.Full(ex.store.NowUS())
	} else {
		ex.notFull()
	}
	return !full || ex.memory.Pressure.Evicting
}

// notFull says that memory is within its bound.
func (ex *executor) notFull() {
	ex.counts.fullUS += ex.memory.Pressure.NotFull(ex.store.NowUS())
}

// What is counted and shown of delayed entries (DELAY.ADD).

// firing returns the functions that count what happens to entries at a time.
func (d *delayed) firing(nowUS int64) *commands.Firing {
	d.sinceMS = min(d.sinceMS, nowUS/1000) // the clock may be set back
	return &commands.Firing{SinceMS: d.sinceMS, Added: func(dueMS int64, recurs bool) {
		d.fired++
		if recurs {
			d.recurred++
		}
		d.late.Add(nowUS - dueMS*1000)
	}, Skipped: func() { d.skipped++ }}
}

// DelayFigures is what a server tells of delayed entries.
type DelayFigures struct {
	// Pending is how many entries wait, by database: of the first, and of those that have any.
	Pending map[int]int64
	// Fired is how many were added to their streams since the start, and Late is how late.
	Fired int64
	Late  histogram.Histogram
	// Recurred is how many of Fired recur, and Skipped is how many times of recurring entries were missed and
	// not made up for (MISSED SKIP).
	Recurred, Skipped int64
}

// delayFigures returns the figures of this moment.
func (ex informant) delayFigures() DelayFigures {
	f := DelayFigures{Pending: map[int]int64{0: 0}, Fired: ex.counts.delayed.fired, Late: ex.counts.delayed.late,
		Recurred: ex.counts.delayed.recurred, Skipped: ex.counts.delayed.skipped}
	for id := range ex.store.Len() {
		if _, n := commands.Delayed(ex.store.DB(id)); n > 0 {
			f.Pending[id] = n
		}
	}
	return f
}

// infoDelays is ours.
func (ex informant) infoDelays(t *info.Text) {
	streams, pending := 0, int64(0)
	for id := range ex.store.Len() {
		s, n := commands.Delayed(ex.store.DB(id))
		streams, pending = streams+s, pending+n
	}
	t.Line("delayed_streams", streams)
	t.Line("delayed_pending", pending)
	t.Line("delayed_fired", ex.counts.delayed.fired)
	t.Line("delayed_recurred", ex.counts.delayed.recurred)
	t.Line("delayed_skipped", ex.counts.delayed.skipped)
	t.Line("delayed_late_max_us", ex.counts.delayed.late.MaxUS)
}
