package shard

import (
	"time"

	"lockserver/commands"
	"lockserver/internal/histogram"
	"lockserver/server/wait"
	"lockserver/store"
)

// EndLeases lets keys die at their deadlines before commands look at them. The caller has found waiters. A
// command that found one first would be answered between the end of a lease and the grant to the next
// waiter, a moment that no client may see.
func (sh *Shard) EndLeases() {
	if sh.ExpiryPaused || !sh.EndsThings() {
		return
	}
	if at, ok := sh.Store.NextDeadlineMS(); ok && at <= sh.Store.NowMS() {
		sh.expireDue(wait.DueBudget)
	}
}

// AlarmBudget is how many holds, and how many delayed entries, one slice works off. A hold takes back a whole
// order, so the number is smaller than that of timers.
const AlarmBudget = 128

// FireAlarms takes back the orders of sales that were not confirmed in time. Then it adds delayed entries
// (DELAY.ADD) that are due to their streams. Each kind is a unit of its own. The result says whether there
// may be more. While the log cannot be written, no entry is added: it would be added again after a restart.
//
// It is called in each slice: by the ticker, and before the first command of a client. So a command finds the
// stock that is free by now.
func (sh *Shard) FireAlarms() (more bool) {
	held, due := sh.Store.AlarmDue(store.HoldAlarm), sh.Store.AlarmDue(store.DelayAlarm)
	if !held && !due || !sh.EndsThings() || sh.Failed != nil || sh.Durable.Loading() {
		return false
	}
	defer sh.Damaging()
	c := &commands.Ctx{Table: sh.Table, DB: sh.Store.DB(0), Rand: sh.Rand, Host: sh.services, Queues: sh.Waits.Queues, Settings: &sh.Settings}
	if held {
		more = commands.EndHolds(c, sh.Store, AlarmBudget)
		sh.EndUnit()
	}
	if due && sh.Durable.Broken() == nil {
		more = commands.FireDelayed(c, sh.Store, AlarmBudget, sh.Counts.Delayed.firing(sh.Store.NowUS())) || more
		sh.EndUnit()
	}
	return more && sh.Failed == nil
}

// expireDue removes keys with a deadline in the past, and records how long that took. budget bounds the work:
// a key counts as 1, and the end of a wait as outcomeCost. So while there are waiters it is done in steps.
// Each step is a unit.
func (sh *Shard) expireDue(budget int) (more bool) {
	var took time.Duration
	for more = true; more && budget > 0; {
		step := budget
		if sh.Waits.Queues.Len() > 0 {
			step = min(step, expiryStep)
		}
		start, spent := time.Now(), sh.Waits.Spent()
		more = sh.Store.ExpireDue(step)
		took += time.Since(start)
		sh.EndUnit()
		budget -= step + sh.Waits.Spent() - spent
	}
	sh.Counts.Expiry += took
	if more {
		sh.Counts.ExpiryCapped++
	}
	sh.Stats.Events.Add("expire-cycle", sh.Store.NowUS()/1_000_000, took.Milliseconds())
	return more
}

// expiryStep is how many keys expire in one unit while there are waiters.
const expiryStep = 16

// Evict frees memory for one slice's time, as a unit of its own: waiters for a key that went are served.
// It reports whether memory is within its bound or may soon be; the ticker goes on with what a slice leaves.
// As in Redis nothing goes under CLIENT PAUSE.
func (sh *Shard) Evict() bool {
	if sh.Pausing.UntilMS != 0 {
		sh.Memory.Pressure.Evicting = false
		return true
	}
	defer sh.Damaging()
	most := sh.Memory.Pressure.MostEvictions
	removed := sh.Store.Evict(most)
	full := sh.Store.Full()
	sh.Memory.Pressure.Evicting = full && removed == most
	if removed > 0 {
		sh.EndUnit()
	}
	if full {
		sh.Memory.Pressure.Full(sh.Store.NowUS())
	} else {
		sh.NotFull()
	}
	return !full || sh.Memory.Pressure.Evicting
}

// NotFull says that memory is within its bound.
func (sh *Shard) NotFull() {
	sh.Counts.FullUS += sh.Memory.Pressure.NotFull(sh.Store.NowUS())
}

// firing returns the functions that count what happens to entries at a time.
func (d *Delayed) firing(nowUS int64) *commands.Firing {
	d.SinceMS = min(d.SinceMS, nowUS/1000) // the clock may be set back
	return &commands.Firing{SinceMS: d.SinceMS, Added: func(dueMS int64, recurs bool) {
		d.Fired++
		if recurs {
			d.Recurred++
		}
		d.Late.Add(nowUS - dueMS*1000)
	}, Skipped: func() { d.Skipped++ }}
}

// Delayed counts the delayed entries that were added to their streams.
type Delayed struct {
	Fired, Recurred, Skipped int64
	Late                     histogram.Histogram // how late, in microseconds
	SinceMS                  int64               // the time since which the server adds them
	Waiting                  Waiting
}

// Waiting is the last count of the entries that wait.
type Waiting struct {
	Pending map[int]int64 // by database; databases above 0 only if they have entries
	Streams int           // the streams with such entries
	Calls   int           // the calls since the count
	Looked  int           // the streams that all counts so far have looked at
}

// Counts counts what has happened since the start, or since CONFIG RESETSTAT.
type Counts struct {
	Expiry       time.Duration // the time that the removal of expired keys took
	ExpiryCapped int64         // slices that left some of it to the next one
	FullUS       int64         // for how long memory was above its bound, up to the last time that it was within
	Delayed      Delayed
}
