package server

import (
	"math"
	"runtime"
	"time"

	"lockserver/internal/background"
	"lockserver/server/wait"
	"lockserver/store"
	"lockserver/store/due"
)

const (
	// slicesPerBreath is after how many slices the ticker rests for a moment, or after one if others wait for
	// the executor's lock. Only then is it certain that an event loop on another thread gets it. One that was
	// woken because the lock was released finds it taken again by the time it runs, and its round takes the
	// lock several times. Without it a million keys that die together kept requests waiting for 250 ms; with
	// a rest after every slice they took twice as long to die.
	slicesPerBreath = 4
	// shortestSleep is how long the ticker sleeps between slices while replies wait.
	shortestSleep = 100 * time.Microsecond
	// longestSleepMS bounds a sleep, so that a wall clock that is set forwards is noticed.
	longestSleepMS = 1000
)

// ticker does what has fallen due. A goroutine of its own sleeps until the earliest, or, if a test owns the
// clock, the clock calls it.
type ticker struct {
	executor     *executor
	armedMS      int64         // when the goroutine will wake by itself; 0: when poked
	poke         chan struct{} // wakes it
	housekeeping due.Timer
	housekeptMS  int64 // when that was last done
	apartMS      int64 // between two rounds of it; 0: housekeepingMS
}

var _ alarm = (*ticker)(nil)

// open makes the ticker that of an executor.
func (t *ticker) open(ex *executor) {
	t.executor, t.poke = ex, make(chan struct{}, 1)
	t.housekeeping.Of = t
	ex.alarm = t
}

// begin implements alarm.
func (t *ticker) begin() {
	t.housekeptMS = t.executor.store.NowMS()
	t.executor.counts.delayed.sinceMS = t.housekeptMS
	t.planHousekeeping()
	t.armedMS = math.MaxInt64 // so that arm wakes the goroutine, whatever it sleeps for
}

// RunDue implements clock.Watcher: it works off everything that has fallen due, in slices between which
// others get their turn.
func (t *ticker) RunDue() {
	ex := t.executor
	for slices := 1; ; slices++ {
		ex.lockIdle()
		if ex.failed != nil {
			ex.mu.Unlock()
			return
		}
		ex.begin()
		more := t.dueSlice()
		touched := ex.end()
		ex.stats.Traffic.Turn(ex.tookUS())
		awaited := ex.mu.awaited()
		ex.mu.Unlock()
		wakeAll(touched, nil)
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

// rest gives others the executor for a moment. If replies wait for the disk or for other servers, the ticker
// sleeps, so that Go's scheduler has a free processor. Otherwise the ticker keeps one processor and an event
// loop in epoll_wait another. On a machine with two, only the runtime's monitor then finds that a sync has
// ended, every 10 ms. The sleep lasts up to a millisecond, the unit of the poller.
func (t *ticker) rest() {
	if t.repliesWait() {
		time.Sleep(shortestSleep)
		return
	}
	background.Breathe()
}

// repliesWait reports whether output waits for the disk or for other servers. The caller needs no lock.
func (t *ticker) repliesWait() bool {
	return t.executor.gates.Log.Waiting()+t.executor.gates.Copied.Waiting() > 0
}

// dueSlice does one slice and says whether there is more to do. Timers come first: a lease that is renewed
// in the millisecond in which it ends goes on.
func (t *ticker) dueSlice() (more bool) {
	ex := t.executor
	defer ex.damaging()
	now := ex.store.NowMS()
	if now < t.housekeptMS { // the clock was set back: the timer stands far ahead
		t.housekeptMS = now
		t.planHousekeeping()
	}
	if ex.pausing.UntilMS == 0 {
		more = ex.waits.Watchdog.RenewDue(now, wait.DueBudget)
	}
	if t.serveOn() { // what is free already goes to those that wait, before their time can be over
		return true
	}
	more = due.FireDue(&ex.timers, now, wait.DueBudget, ex.waits.Spent) || more
	ex.endUnit()
	more = ex.fireAlarms() || more
	if ex.memory.Pressure.Evicting {
		ex.evict()
		more = more || ex.memory.Pressure.Evicting
	}
	switch {
	case ex.debug.expiryPaused || ex.pausing.UntilMS != 0:
	case ex.follows:
		more = ex.store.ExpireOwn(wait.DueBudget) || more
		ex.endUnit()
	default:
		more = ex.expireDue(wait.DueBudget) || more
	}
	return more
}

// servesOn reports whether there are waiters that a unit has put off, and that may be served. A grant is a
// write.
func (t *ticker) servesOn() bool {
	ex := t.executor
	return ex.waits.Queues.PutOff() > 0 && ex.pausing.UntilMS == 0 && ex.durable.Broken() == nil
}

// mostServed implements alarm.
func (t *ticker) mostServed() int {
	if t.executor.frozen() {
		return math.MaxInt // nothing happens by itself, so there is no later
	}
	return t.executor.waits.Most
}

// serveOn gives some of them their turn, and reports whether there are more.
func (t *ticker) serveOn() (more bool) {
	if !t.servesOn() {
		return false
	}
	ex := t.executor
	ex.waits.Queues.Resume(ex.waits.Most)
	ex.endUnit()
	return t.servesOn()
}

// NextDueUS implements clock.Watcher.
func (t *ticker) NextDueUS() (int64, bool) {
	ex := t.executor
	ex.mu.Lock()
	defer ex.mu.Unlock()
	at, ok := t.nextMS()
	return at * 1000, ok && ex.failed == nil
}

// tick is the ticker's goroutine: it sleeps until the next deadline, or until it is poked because there is
// an earlier one.
func (t *ticker) tick(stop <-chan struct{}) {
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
func (t *ticker) sleep() time.Duration {
	ex := t.executor
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.frozen() {
		t.armedMS = math.MaxInt64 // so that RunDue wakes the ticker when the clock goes again
		return time.Hour
	}
	nowUS := ex.clock.NowUS()
	t.armedMS = nowUS/1000 + longestSleepMS
	if at, ok := t.nextMS(); ok && at < t.armedMS {
		t.armedMS = at
	}
	return max(0, time.Duration(t.armedMS*1000-nowUS)*time.Microsecond)
}

// nextMS returns when something falls due, in milliseconds since 1970.
func (t *ticker) nextMS() (int64, bool) {
	ex := t.executor
	if t.servesOn() {
		return ex.store.NowMS(), true
	}
	at, ok := ex.timers.NextMS()
	if renewal, has := ex.waits.Watchdog.NextRenewalMS(); has && (!ok || renewal < at) && ex.pausing.UntilMS == 0 {
		at, ok = renewal, true
	}
	if !ex.endsThings() {
		if own, has := ex.store.NextOwnMS(); has && ex.pausing.UntilMS == 0 && !ex.debug.expiryPaused && (!ok || own < at) {
			at, ok = own, true
		}
		return at, ok
	}
	if key, has := ex.store.NextDeadlineMS(); has && !ex.debug.expiryPaused && (!ok || key < at) {
		at, ok = key, true
	}
	if hold, has := ex.store.NextAlarmMS(store.HoldAlarm); has && (!ok || hold < at) {
		at, ok = hold, true
	}
	if entry, has := ex.store.NextAlarmMS(store.DelayAlarm); has && (!ok || entry < at) && ex.durable.Broken() == nil {
		at, ok = entry, true
	}
	if ex.memory.Pressure.Evicting {
		at, ok = ex.store.NowMS(), true
	}
	return at, ok
}

// arm implements alarm: it wakes the ticker if something now falls due before it would wake by itself.
func (t *ticker) arm() {
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

// What is looked at once a second: what is due to be written, and clients that are idle.

// housekeepingMS is how often save points, idle clients and the token reservation are looked at.
const housekeepingMS = 1000

// Fire implements due.Firer.
func (t *ticker) Fire() { t.keepHouse() }

// planHousekeeping sets the timer of the next round.
func (t *ticker) planHousekeeping() {
	t.executor.timers.Set(&t.housekeeping, t.housekeptMS+max(t.apartMS, housekeepingMS))
}

// KeepHouse implements clock.Watcher.
func (t *ticker) KeepHouse(apartUS int64) {
	t.executor.lockIdle()
	if t.apartMS = apartUS / 1000; t.housekeptMS > 0 {
		t.planHousekeeping()
		t.arm()
	}
	t.executor.mu.Unlock()
	if apartUS == 0 {
		t.RunDue()
	}
}

// keepHouse is what happens once a second, under the executor.
func (t *ticker) keepHouse() {
	ex := t.executor
	t.housekeptMS = ex.store.NowMS()
	t.planHousekeeping()
	if ex.debug.housePaused {
		return
	}
	ex.audit.CountAttempts()
	ex.durable.Tick()
	ex.replication.Tick()
	ex.dump.Targets.Tick()
	ex.shutdown.goOn() // the last replica may have gone
	if ex.member != nil {
		ex.member.Tick()
	}
	nowS := ex.store.NowUS() / 1_000_000
	ex.stats.Events.Add("aof-sync", nowS, ex.durable.SlowestSync().Milliseconds())
	ex.stats.Events.Add("gc", nowS, ex.stats.Pauses.Longest().Milliseconds())
	ex.store.HeldSince(heldGroups)
	ex.memory.Clients.AskUnsent()
	ex.stats.Buffers.Tick()
	t.closeIdle()
	t.closeUnauthenticated()
}

// idles reports whether the session does nothing. One that waits, in a command or for the end of CLIENT
// PAUSE, does not. Nor does one that listens, that is attached to owners, or for which the server renews a
// lock: closing it would take the lock away.
func (s *session) idles() bool {
	return s.Waiter == nil && !s.KeepsPlaces() && !s.Held && s.subs == nil && !s.monitors && !s.Keeps() && s.Attachments.Len() == 0 && !s.link.replica.Is()
}

// closeUnauthenticated closes clients that have to log in, and have had their time for it (auth-timeout).
func (t *ticker) closeUnauthenticated() {
	ex := t.executor
	most := ex.config.AuthTimeoutMS * 1000
	if most == 0 || ex.users.Default().Open() {
		return
	}
	now := ex.store.NowUS()
	for _, s := range ex.clients {
		if !s.authenticated && now-s.Info.UnauthSinceUS > most {
			ex.log.Debug("closing a client that has not logged in", "client", s.Number, "address", s.Info.Addr)
			ex.terminate(s)
		}
	}
}

// closeIdle closes clients that have been idle longer than the timeout directive allows.
// Reading replies is no idleness.
func (t *ticker) closeIdle() {
	ex := t.executor
	if ex.config.TimeoutMS == 0 {
		return
	}
	now := ex.store.NowUS()
	for _, s := range ex.clients {
		if s.reads.Swap(false) {
			s.Info.LastUS = now
		}
		if s.idles() && now-s.Info.LastUS > ex.config.TimeoutMS*1000 {
			ex.log.Debug("closing an idle client", "client", s.Number)
			ex.terminate(s)
		}
	}
}
