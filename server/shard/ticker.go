package shard

import (
	"math"
	"runtime"
	"time"

	"lockserver/internal/background"
	"lockserver/server/clock"
	"lockserver/server/wait"
	"lockserver/store"
	"lockserver/store/due"
)

const (
	// slicesPerBreath is the number of slices after which the ticker rests for a moment. If others wait
	// for the lock, it rests after each slice. Only then is it certain that an event loop on another
	// thread gets the lock. A loop that is woken by the release of the lock finds it taken again, and its
	// round takes the lock several times. Without it a million keys that die together kept requests
	// waiting for 250 ms; with a rest after every slice they took twice as long to die.
	slicesPerBreath = 4
	// shortestSleep is how long the ticker sleeps between slices while replies wait.
	shortestSleep = 100 * time.Microsecond
	// longestSleepMS bounds a sleep, so that a wall clock that is set forwards is noticed.
	longestSleepMS = 1000
)

// Ticker does what has fallen due. A goroutine of its own sleeps until the earliest, or, if a test owns the
// clock, the clock calls it.
type Ticker struct {
	shard        *Shard
	armedMS      int64         // when the goroutine will wake by itself; 0: when poked
	poke         chan struct{} // wakes it
	housekeeping due.Timer
	housekeptMS  int64 // when that was last done
	apartMS      int64 // between two rounds of it; 0: housekeepingMS
}

// open makes the ticker that of a shard.
func (t *Ticker) open(sh *Shard) {
	t.shard, t.poke = sh, make(chan struct{}, 1)
	t.housekeeping.Of = t
}

// Begin starts the housekeeping once a second. It is called when the data is loaded, and when the clock was
// set anew.
func (t *Ticker) Begin() {
	t.housekeptMS = t.shard.Store.NowMS()
	t.shard.Counts.Delayed.SinceMS = t.housekeptMS
	t.planHousekeeping()
	t.armedMS = math.MaxInt64 // so that arm wakes the goroutine, whatever it sleeps for
}

// RunDue implements clock.Watcher: it works off everything that has fallen due, in slices between which
// others get their turn.
func (t *Ticker) RunDue() {
	sh := t.shard
	for slices := 1; ; slices++ {
		sh.LockIdle()
		if sh.Failed != nil {
			sh.Mu.Unlock()
			return
		}
		sh.Begin()
		more := t.DueSlice()
		touched := sh.End()
		sh.Stats.Traffic.Turn(sh.TookUS())
		awaited := sh.Mu.Awaited()
		sh.Mu.Unlock()
		sh.wake(touched)
		switch {
		case !more:
			return
		case awaited || slices%slicesPerBreath == 0:
			t.rest()
		default:
			runtime.Gosched()
		}
	}
}

// rest gives others the lock for a moment. If replies wait for the disk or for other servers, the ticker
// sleeps, so that Go's scheduler has a free processor. Otherwise the ticker keeps one processor and an event
// loop in epoll_wait another. On a machine with two, only the runtime's monitor then finds that a sync has
// ended, every 10 ms. The sleep lasts up to a millisecond, the unit of the poller.
func (t *Ticker) rest() {
	if t.RepliesWait() {
		time.Sleep(shortestSleep)
		return
	}
	background.Breathe()
}

// RepliesWait reports whether output waits for the disk or for other servers. The caller needs no lock.
func (t *Ticker) RepliesWait() bool {
	return t.shard.Gates.Log.Waiting()+t.shard.Gates.Copied.Waiting() > 0
}

// DueSlice does one slice and says whether there is more to do. Timers come first: a lease that is renewed
// in the millisecond in which it ends goes on.
func (t *Ticker) DueSlice() (more bool) {
	sh := t.shard
	defer sh.Damaging()
	now := sh.Store.NowMS()
	if now < t.housekeptMS { // the clock was set back: the timer stands far ahead
		t.housekeptMS = now
		t.planHousekeeping()
	}
	if sh.Pausing.UntilMS == 0 {
		more = sh.Waits.Watchdog.RenewDue(now, wait.DueBudget)
	}
	if t.serveOn() { // free locks go to their waiters, before the waits can time out
		return true
	}
	more = due.FireDue(&sh.Timers, now, wait.DueBudget, sh.Waits.Spent) || more
	sh.EndUnit()
	more = sh.FireAlarms() || more
	if sh.Memory.Pressure.Evicting {
		sh.Evict()
		more = more || sh.Memory.Pressure.Evicting
	}
	switch {
	case sh.ExpiryPaused || sh.Pausing.UntilMS != 0:
	case sh.Follows:
		more = sh.Store.OwnDeadlines().Expire(wait.DueBudget) || more
		sh.EndUnit()
	default:
		more = sh.expireDue(wait.DueBudget) || more
	}
	return more
}

// servesOn reports whether there are waiters that a unit has put off, and that may be served. A grant is a
// write.
func (t *Ticker) servesOn() bool {
	sh := t.shard
	return sh.Waits.Queues.PutOff() > 0 && sh.Pausing.UntilMS == 0 && sh.Durable.Broken() == nil
}

// mostServed is how many waiters a unit serves before it puts others off.
func (t *Ticker) mostServed() int {
	if t.shard.Frozen() {
		return math.MaxInt // nothing happens by itself, so there is no later
	}
	return t.shard.Waits.Most
}

// serveOn gives some of them their turn, and reports whether there are more.
func (t *Ticker) serveOn() (more bool) {
	if !t.servesOn() {
		return false
	}
	sh := t.shard
	sh.Waits.Queues.Resume(sh.Waits.Most)
	sh.EndUnit()
	return t.servesOn()
}

// NextDueUS implements clock.Watcher.
func (t *Ticker) NextDueUS() (int64, bool) {
	sh := t.shard
	sh.Mu.Lock()
	defer sh.Mu.Unlock()
	at, ok := t.nextMS()
	return at * 1000, ok && sh.Failed == nil
}

// Run is the ticker's goroutine: it sleeps until the next deadline, or until it is poked because there is
// an earlier one.
func (t *Ticker) Run(stop <-chan struct{}) {
	alarm := time.NewTimer(t.sleep())
	defer alarm.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.poke:
		case <-alarm.C:
			t.RunDue()
		}
		alarm.Reset(t.sleep())
	}
}

// sleep decides how long the ticker may sleep and stores it for arm.
func (t *Ticker) sleep() time.Duration {
	sh := t.shard
	sh.Mu.Lock()
	defer sh.Mu.Unlock()
	if sh.Frozen() {
		t.armedMS = math.MaxInt64 // so that RunDue wakes the ticker when the clock goes again
		return time.Hour
	}
	nowUS := sh.Clock.NowUS()
	t.armedMS = nowUS/1000 + longestSleepMS
	if at, ok := t.nextMS(); ok && at < t.armedMS {
		t.armedMS = at
	}
	return max(0, time.Duration(t.armedMS*1000-nowUS)*time.Microsecond)
}

// nextMS returns when something falls due, in milliseconds since 1970.
func (t *Ticker) nextMS() (int64, bool) {
	sh := t.shard
	if t.servesOn() {
		return sh.Store.NowMS(), true
	}
	at, ok := sh.Timers.NextMS()
	if renewal, has := sh.Waits.Watchdog.NextRenewalMS(); has && (!ok || renewal < at) && sh.Pausing.UntilMS == 0 {
		at, ok = renewal, true
	}
	if !sh.EndsThings() {
		if own, has := sh.Store.OwnDeadlines().NextMS(); has && sh.Pausing.UntilMS == 0 && !sh.ExpiryPaused && (!ok || own < at) {
			at, ok = own, true
		}
		return at, ok
	}
	if key, has := sh.Store.NextDeadlineMS(); has && !sh.ExpiryPaused && (!ok || key < at) {
		at, ok = key, true
	}
	if hold, has := sh.Store.NextAlarmMS(store.HoldAlarm); has && (!ok || hold < at) {
		at, ok = hold, true
	}
	if entry, has := sh.Store.NextAlarmMS(store.DelayAlarm); has && (!ok || entry < at) && sh.Durable.Broken() == nil {
		at, ok = entry, true
	}
	if sh.Memory.Pressure.Evicting {
		at, ok = sh.Store.NowMS(), true
	}
	return at, ok
}

// arm is called at the end of each slice. It wakes the ticker if something now falls due before it would
// wake by itself.
func (t *Ticker) arm() {
	at, ok := t.nextMS()
	if !ok || at >= t.armedMS {
		return
	}
	t.armedMS = at
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

// housekeepingMS is how often save points, idle clients and the token reservation are looked at.
const housekeepingMS = 1000

// Fire implements due.Firer.
func (t *Ticker) Fire() {
	t.housekeptMS = t.shard.Store.NowMS()
	t.planHousekeeping()
	t.shard.server.KeepHouse()
}

// planHousekeeping sets the timer of the next round.
func (t *Ticker) planHousekeeping() {
	t.shard.Timers.Set(&t.housekeeping, t.housekeptMS+max(t.apartMS, housekeepingMS))
}

// KeepHouse implements clock.Watcher.
func (t *Ticker) KeepHouse(apartUS int64) {
	t.shard.LockIdle()
	if t.apartMS = apartUS / 1000; t.housekeptMS > 0 {
		t.planHousekeeping()
		t.arm()
	}
	t.shard.Mu.Unlock()
	if apartUS == 0 {
		t.RunDue()
	}
}

// Frozen reports whether the clock stands still until a client moves it.
func (sh *Shard) Frozen() bool {
	c, ok := sh.Clock.(*clock.Adjustable)
	return ok && c.Frozen()
}
