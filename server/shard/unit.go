package shard

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockserver/commands"
	"lockserver/internal/waiting"
	"lockserver/server/durability"
	"lockserver/server/wait"
	"lockserver/store"
)

// Begin opens a slice: the caller holds the lock. Its units see the same time until one serves waiters.
func (sh *Shard) Begin() {
	sh.SliceUS = sh.Clock.NowUS()
	sh.Store.SetNow(sh.SliceUS)
	if sh.Pausing.UntilMS == 0 && sh.Waits.Watchdog.Late() {
		sh.Waits.Watchdog.CatchUp()
	}
}

// readClock sets the time for waiters that are about to be served. A unit sees its beginning as its time, and
// may have taken long: a script, or MULTI. As in Redis its waiters see the time at its end. So they find
// nothing that is over by then, and their leases begin when they are granted.
func (sh *Shard) readClock() {
	sh.Store.SetNow(sh.Clock.NowUS())
	if sh.Pausing.UntilMS == 0 && sh.Waits.Watchdog.Late() {
		sh.Waits.Watchdog.RenewLate()
	}
}

// EndsThings reports whether what is overdue ends here: not on a replica, and, as in Redis, not under CLIENT
// PAUSE, when a replica is to have all that happened.
func (sh *Shard) EndsThings() bool { return !sh.Follows && sh.Pausing.UntilMS == 0 }

// TookUS is for how long the slice has gone on, in microseconds.
func (sh *Shard) TookUS() int64 { return sh.Clock.NowUS() - sh.SliceUS }

// End closes a slice. It returns the parties that the caller must wake after it has unlocked.
func (sh *Shard) End() []*wait.Party {
	sh.server.EndSlice()
	if log := sh.Durable.Log(); log != nil && log.Filled() {
		sh.endSlice(log)
	}
	if sh.Replication.Filled() {
		sh.Replication.EndSlice()
	}
	if sh.Member != nil && sh.Member.Wanted() {
		sh.Member.EndSlice()
	}
	if sh.Durable.TokensArrived() {
		sh.Durable.KeepArrived()
	}
	sh.Round = nil
	sh.countMemory()
	sh.PlainSlice = false
	sh.Ticker.arm()
	if len(sh.Touched) == 0 {
		return nil
	}
	t := sh.Touched
	sh.Touched = nil
	return t
}

// countMemory tells the store how much is used besides the data.
func (sh *Shard) countMemory() {
	m := &sh.Memory
	if !sh.PlainSlice {
		m.Others = sh.server.Beside()
	}
	sh.Store.SetBeside(m.Count(sh.Store.Used()))
}

// endSlice sees to it that what the slice appended to the log is written. That happens now, or at the end of
// the round of an event loop, so that one sync serves all sessions that wrote in it. Other sessions that got
// output in the slice must wait as well.
func (sh *Shard) endSlice(log *durability.Log) {
	for _, p := range sh.Touched {
		log.Floor(&p.Mark)
	}
	log.EndSlice()
	if sh.Round != nil {
		sh.Round.FlushAtEnd(log)
	} else {
		log.Wake()
	}
}

// Touch records that a party has output or may go on.
func (sh *Shard) Touch(p *wait.Party) {
	if !p.Touched {
		p.Touched = true
		sh.Touched = append(sh.Touched, p)
	}
}

// EndUnit ends the parties that were terminated in the unit, serves the waiters of the keys that it changed,
// and hands its effects on.
func (sh *Shard) EndUnit() {
	if sh.Waits.Queues.Ready()+len(sh.Terminated)+sh.Waits.Watchdog.Attached.Doubts() > 0 {
		sh.serve()
	}
	if sh.Durable.Records() {
		sh.HandOn()
	}
}

// HandOn records the effects since the last call, without those of a command that has panicked.
func (sh *Shard) HandOn() {
	defer sh.Damaging()
	sh.Durable.EndUnit(sh.Failed == nil)
}

// Prepare fills a context for one command of a party. The parts of the shard never change after Open, so a
// context gets them once.
func (sh *Shard) Prepare(c *commands.Ctx, p *wait.Party, row *commands.Row, argv [][]byte) {
	// plant:waiter-prepared
	if c.Queues == nil {
		c.Table, c.Rand, c.Host, c.Queues, c.Settings = sh.Table, sh.Rand, sh.services, sh.Waits.Queues, &sh.Settings
	}
	c.Argv, c.Row, c.Out, c.DB, c.Session = argv, row, &p.Out, p.DB, p
	c.MayBlock, c.FromScript, c.Traced = true, false, false
}

// Do runs f as a unit of its own, from outside any session.
func (sh *Shard) Do(f func()) {
	sh.LockIdle()
	defer sh.Damaging()
	sh.UnlockUnit(f)
}

// UnlockUnit runs f as a unit of its own and lets go of the lock, which the caller has taken.
func (sh *Shard) UnlockUnit(f func()) {
	sh.Begin()
	f()
	sh.EndUnit()
	touched := sh.End()
	sh.Stats.Traffic.Turn(sh.TookUS())
	sh.Mu.Unlock()
	sh.wake(touched)
}

// AfterScript runs f under the lock, as a unit of its own. If a script is busy, f runs when the script is
// over.
func (sh *Shard) AfterScript(f func()) {
	sh.Mu.Lock()
	defer sh.Damaging()
	if sh.Busy.On {
		sh.Busy.Later = append(sh.Busy.Later, f)
		sh.Mu.Unlock()
		return
	}
	sh.UnlockUnit(f)
}

// DoLater does what was put off while a script was busy, after its unit.
func (sh *Shard) DoLater() {
	defer sh.Damaging()
	later := sh.Busy.Later
	sh.Busy.Later = nil
	for _, f := range later {
		f()
		sh.EndUnit()
	}
}

// serve ends the sessions that were terminated and lets the waiters of every ready key try, until nothing
// more happens. It is the end of each unit. If very many waiters for locks can go, the others of them have
// units of their own (Ticker.serveOn). A terminated session never has a waiter in a queue that is
// served.
func (sh *Shard) serve() {
	defer sh.Damaging()
	sh.readClock()
	unit := waiting.Unit{Most: sh.Ticker.mostServed()}
	// No waiter is served while the log cannot be written: what a waiter takes is a write.
	// plant:may-serve
	mayServe := sh.Durable.Broken() == nil
	for {
		switch {
		case len(sh.Terminated) > 0:
			sh.endTerminated()
		case sh.Waits.Watchdog.Attached.Doubts() > 0 && (!sh.Durable.Loading() || sh.Durable.Serves()):
			sh.Waits.ResolveDoubts()
		case !mayServe:
			return
		case sh.Waits.Queues.Serve(&unit):
		case len(sh.Terminated) > 0: // it may have found a lock with a lease that has ended
		default:
			if sh.Waits.Queues.Suspects() > 0 {
				sh.Timers.Set(&sh.Waits.ResumeSearch, sh.Store.NowMS())
			}
			return
		}
	}
}

// endTerminated ends the marked sessions. It runs between units' ends and their waiters, never inside of a
// command.
func (sh *Shard) endTerminated() {
	for i := 0; i < len(sh.Terminated); i++ { // taking back a grant may mark more
		if p := sh.Terminated[i]; !p.Dead {
			sh.server.Leave(p)
			if w := p.Granted; w != nil { // it was never sent
				p.Granted = nil
				// plant:unsent-grant
				sh.Waits.Undo(w)
			}
			sh.server.HangUp(p) // its owner closes it when it finds the connection shut
		}
	}
	clear(sh.Terminated)
	sh.Terminated = sh.Terminated[:0]
}

// CountNested runs what is part of another command, of a script, a transaction or GUARD, and counts it.
func (sh *Shard) CountNested(row *commands.Row, run func() error) error {
	of := sh.Stats.Of(row)
	var err error
	if of.Called() {
		start := time.Now()
		err = run()
		of.Took(time.Since(start))
	} else {
		err = run()
	}
	sh.Stats.Total++
	if err != nil {
		of.Failed++
	}
	return err
}

// Refuse replaces the reply of a command, which begins at mark, by an error, and counts that.
func (sh *Shard) Refuse(p *wait.Party, mark int, err error) {
	p.Out.Rollback(mark)
	p.Out.Error(err.Error())
	sh.Stats.Errors.Count(err.Error())
}

// Commands call the methods below within their unit.

var _ commands.ShardServices = (*Shard)(nil)

// Park implements commands.ShardServices.
func (sh *Shard) Park(c *commands.Ctx, w commands.Wait) error { return sh.Waits.Park(c, w) }

// TryAgainAt implements commands.ShardServices.
func (sh *Shard) TryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	sh.Waits.TryAgainAt(c, key, atMS)
}

// NextToken implements commands.ShardServices.
func (sh *Shard) NextToken(floor int64) int64 { return sh.Durable.NextToken(floor) }

// Held implements commands.ShardServices.
func (sh *Shard) Held(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	sh.Waits.Watchdog.Held(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// StopRenewing implements commands.ShardServices.
func (sh *Shard) StopRenewing(c *commands.Ctx, key []byte) { sh.Waits.Watchdog.StopRenewing(c, key) }

// HeldShare implements commands.ShardServices.
func (sh *Shard) HeldShare(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	sh.Waits.Watchdog.HeldShare(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// ReleasedShare implements commands.ShardServices.
func (sh *Shard) ReleasedShare(c *commands.Ctx, key, owner []byte, released bool) {
	sh.Waits.Watchdog.ReleasedShare(c, key, owner, released)
}

// ForcedShare implements commands.ShardServices.
func (sh *Shard) ForcedShare(c *commands.Ctx, key, owner []byte) {
	sh.Waits.Watchdog.ForcedShare(c, key, owner)
}

// Emptied implements commands.ShardServices.
func (sh *Shard) Emptied() { sh.Durable.Emptied() }

// RisingSecond implements commands.ShardServices.
func (sh *Shard) RisingSecond(nowS int64) int64 {
	sh.idSecond = max(sh.idSecond, nowS)
	return sh.idSecond
}

// Unconfirmed implements commands.ShardServices.
func (sh *Shard) Unconfirmed(c *commands.Ctx, keys [][]byte, owner []byte) bool {
	return !slices.ContainsFunc(keys, func(key []byte) bool { return len(sh.Waits.Grants.Of(c.DB.ID(), key, owner)) == 0 })
}

// Confirmed implements commands.ShardServices.
func (sh *Shard) Confirmed(c *commands.Ctx, key, owner []byte, token int64) {
	if sh.Waits.Grants.Len() > 0 {
		sh.Waits.Confirmed(c.DB, key, owner, token)
	}
}

// StaleToken implements commands.ShardServices.
func (sh *Shard) StaleToken(c *commands.Ctx) { sh.Stats.LocksOf(c.DB.ID()).StaleTokens++ }

// LockEvent implements commands.ShardServices.
func (sh *Shard) LockEvent(c *commands.Ctx) { sh.Waits.LockEvent(c) }

// lockRecord returns the record of a lock that is acquired now. was is the record of an earlier acquisition
// by another client of the same owner, or 0.
func lockRecord(c *commands.Ctx, was uint64) uint64 {
	since := c.NowMS()
	if was != 0 {
		_, since = store.ReadLockRecord(was)
	}
	return store.NewLockRecord(c.Session.ID(), since)
}

// Lock lets one goroutine at a time touch the data, and none while a busy script is in the middle of its
// unit.
type Lock struct {
	Mu   AwaitedMutex
	Busy Busy
}

// A busy script has run for longer than busy-reply-threshold. It gives up the lock for a moment now and then.
// Others find the shard busy then, and must not touch the data, because the script is in the middle of its
// work. Clients get -BUSY, but for the few commands that are marked AllowBusy. All others that need the lock
// wait in LockIdle until the script is over. The work after an ended connection is put off.

// Busy says whether a script is busy, and what waits for its end. It is only touched under the lock.
type Busy struct {
	On    bool
	Over  *sync.Cond // signalled when the script is over
	Later []func()   // functions that are put off until then
}

// LockIdle takes the lock at a moment when no script is in the middle of its work.
func (l *Lock) LockIdle() {
	l.Mu.Lock()
	l.AwaitIdle()
}

// AwaitIdle is LockIdle for a caller that has the lock.
func (l *Lock) AwaitIdle() {
	for l.Busy.On {
		l.Busy.Over.Wait()
	}
}

// WithoutLock lets go of the lock while f runs.
func (l *Lock) WithoutLock(f func()) {
	l.Mu.Unlock()
	defer l.Mu.Lock()
	f()
}

// AwaitedMutex is a mutex that knows whether others wait for it. Work that goes on for long in slices then
// rests for a moment. The zero value is unlocked.
type AwaitedMutex struct {
	mu      sync.Mutex
	waiting atomic.Int32
}

// Lock implements sync.Locker.
func (m *AwaitedMutex) Lock() {
	if m.TryLock() {
		return
	}
	m.waiting.Add(1)
	m.mu.Lock()
	m.waiting.Add(-1)
}

// TryLock locks it if it is free, and reports whether it did.
func (m *AwaitedMutex) TryLock() bool { return m.mu.TryLock() }

// Unlock implements sync.Locker.
func (m *AwaitedMutex) Unlock() { m.mu.Unlock() }

// Awaited reports whether others wait for it.
func (m *AwaitedMutex) Awaited() bool { return m.waiting.Load() > 0 }
