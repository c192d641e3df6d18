package wait

import (
	"hash/maphash"
	"slices"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/internal/hotkeys"
	"lockserver/internal/lockclass"
	"lockserver/internal/lockhistory"
	"lockserver/internal/tracecontext"
	"lockserver/internal/waiting"
	"lockserver/server/attach"
	"lockserver/store"
)

// Records of events of locks: the history (LOCK.HISTORY), the figures of classes, and the keys
// that cost the most time (LOCK.HOT). Commands on locks report their events with LockEvent. The queues of
// waiters report theirs with beganWait and endedWait. The store reports locks that end without such a command
// with OnLockEnd. A server that follows another one keeps nothing: the other one decides.

// lockEvents records what happens to locks. Only the executor touches it.
type lockEvents struct {
	seed    maphash.Seed
	Ring    *lockhistory.Ring
	Classes *lockclass.Table
	lines   [][]string         // of the directive lock-class, as they were applied
	Held    hotkeys.Sketch     // how long keys were held, and how often
	waited  hotkeys.Sketch     // how long keys were waited for, and how often
	trying  *Parked            // the wait that has its turn; nil: a client's command runs
	refused lockhistory.Reason // why the wait that is about to end gets no lock
	undoing bool               // a grant is taken back that did not reach the client
	Muted   bool               // nothing is kept: a benchmark compares with that, and tests measure memory without it
	// Traces has the traces of holders, by token. It is bounded: an old one goes for a new one.
	Traces map[int64]tracecontext.Context
	// Spans has the waits that are exported as spans when they end. skipped counts those that did not fit.
	Spans   map[*Parked]*WaitSpan
	skipped int64
	Hashed  int64 // keys so far, for tests: most events need no hash
	// since has the times of grants with tokens that are ahead of the clock, by token. All other tokens of
	// shared holders tell the time of the grant themselves.
	since map[int64]int64
}

// mostSince bounds lockEvents.since. Beyond it the length of a hold is not known.
const mostSince = 1 << 16

func (st *lockEvents) open() {
	st.seed = maphash.MakeSeed()
	st.Ring, st.Classes = lockhistory.New(), lockclass.New()
	st.since, st.Traces, st.Spans = make(map[int64]int64), make(map[int64]tracecontext.Context), make(map[*Parked]*WaitSpan)
}

// configure applies the directives.
func (st *lockEvents) configure(ws *Waits, c *config.Config) {
	size := c.LockHistoryBytes
	if size > 0 {
		size = max(size, lockhistory.MinBytes)
	}
	st.Ring.Resize(int(size), ws.Store.NowUS(), "configured")
	if slices.EqualFunc(st.lines, c.LockClasses, slices.Equal) {
		return
	}
	st.lines = c.LockClasses
	st.Classes.Define(st.lines)
	ws.Queues.Each(func(q *waiting.Queue) bool {
		for pl := q.First(); pl != nil; pl = pl.Next() {
			if w := pl.Waiter(); w.OfLocks() && !ParkedOf(w).lock.Limiter() {
				st.countWaiting(w, &keyOf{text: []byte(pl.Key())}, 1)
			}
		}
		return true
	})
}

// Restart forgets the history, because what happened before now is not known here.
func (st *lockEvents) Restart(nowUS int64, why string) {
	st.Ring.Restart(nowUS, why)
	clear(st.since)
	clear(st.Traces)
}

// forget sets the figures to zero.
func (st *lockEvents) forget() {
	st.Classes.Reset()
	st.Held, st.waited = hotkeys.Sketch{}, hotkeys.Sketch{}
}

// keyOf is a key of an event. Its hash is made when it is needed, which it mostly is not.
type keyOf struct {
	text []byte
	hash uint64 // 0: not made yet
}

func (k *keyOf) hashIn(st *lockEvents) uint64 {
	if k.hash == 0 {
		k.hash = maphash.Bytes(st.seed, k.text)
		st.Hashed++
	}
	return k.hash
}

// classOf returns the class of a key.
func (st *lockEvents) classOf(k *keyOf) *lockclass.Figures {
	if !st.Classes.NeedsHash() {
		return st.Classes.Of(0, k.text)
	}
	return st.Classes.Of(k.hashIn(st), k.text)
}

// classFields returns the field of LOCK.INFO with the class of a key; nil: no classes are defined.
func (st *lockEvents) classFields(key []byte) []string {
	if len(st.Classes.All()) < 2 {
		return nil
	}
	return []string{"class", st.classOf(&keyOf{text: key}).Name}
}

// LockEvent records an event of a lock that a command reports. Almost all events are grants at once and
// releases after a short hold. They are counted, and added to the history, without calls that could be left
// out.
func (ws *Waits) LockEvent(c *commands.Ctx) {
	st, e := &ws.LockEvents, &c.Event
	if ws.Follows || st.Muted {
		return
	}
	class, hash := st.Classes.Quick(e.Key), uint64(0)
	if class == nil {
		k := keyOf{text: e.Key}
		class, hash = st.classOf(&k), k.hash
	}
	now, took := ws.Store.NowUS(), int64(lockhistory.Unknown)
	switch e.Kind {
	case lockhistory.Granted:
		if took = 0; st.trying != nil {
			took = now - st.trying.sinceUS
		}
		if e.Reason != lockhistory.Again {
			st.granted(class, e, now)
		}
	case lockhistory.Released, lockhistory.Forced:
		took = st.released(c, class, hash, now)
	case lockhistory.Refused:
		took = 0
		class.Refusals++
	}
	var trace *tracecontext.Context
	if c.Traced || len(st.Traces) > 0 {
		trace = ws.traceEvent(c)
	}
	s := partyOf(c)
	if what := lockhistory.Brief(e.Kind, e.Reason, e.Mode); trace != nil || c.DB.ID() != 0 ||
		!st.Ring.AddBrief(what, e.Permits, now, e.Token, took, s.Number, &e.Names) {
		if st.Ring.On() {
			st.Ring.Add(&lockhistory.Event{AtUS: now, DB: c.DB.ID(), Kind: e.Kind, Reason: e.Reason, Mode: e.Mode, Permits: e.Permits,
				Key: e.Key, Owner: e.Owner, Token: e.Token, Client: s.Number, Address: s.Info.Addr, TookUS: took, Trace: trace})
		}
	}
}

// granted counts a new holder.
func (st *lockEvents) granted(class *lockclass.Figures, e *commands.LockEvent, now int64) {
	class.Grants++
	if e.Permits > 0 {
		class.PermitGrants++
	}
	if e.Token > now+skewUS && !e.Plain && len(st.since) < mostSince {
		st.since[e.Token] = now
	}
}

// released counts a hold that a command ends, and returns for how long it lasted, in microseconds. hash is
// that of the key, if it is made already.
func (st *lockEvents) released(c *commands.Ctx, class *lockclass.Figures, hash uint64, now int64) (took int64) {
	e := &c.Event
	if st.undoing && e.Reason == lockhistory.None {
		e.Reason = lockhistory.Undone
	}
	if e.Kind == lockhistory.Forced {
		class.Lost[lockclass.Forced]++
	}
	if e.Reason == lockhistory.Partly || e.Reason == lockhistory.Downgraded {
		return lockhistory.Unknown
	}
	if took = now - e.Token; took < 0 || took > mostPlainUS {
		took = st.tookUS(c, e.Key, now)
	}
	if took >= 0 {
		class.Holds.Add(took)
	}
	if !st.Held.Skips(took, 1) {
		st.countHeld(&keyOf{text: e.Key, hash: hash}, c.DB.ID(), took)
	}
	return took
}

// tookUS returns for how long a lock has been held that a command releases, in microseconds.
func (st *lockEvents) tookUS(c *commands.Ctx, key []byte, now int64) int64 {
	e := &c.Event
	took := now - e.Token
	if took >= -skewUS && took <= mostPlainUS {
		return max(took, 0)
	}
	record := uint64(0)
	if e.Plain {
		record = c.DB.LockRecord(key)
	}
	return st.heldUS(now, e.Token, record)
}

const (
	// skewUS is how far a token may be ahead of the clock although it is made of the time: several locks are
	// granted in one microsecond.
	skewUS = 1000
	// mostPlainUS is the longest hold with a length that is taken from the token alone. A longer one may have
	// begun when tokens were ahead of the clock.
	mostPlainUS = 1_000_000
)

// endHold counts a hold that ends, if it is known for how long it lasted.
func (st *lockEvents) endHold(class *lockclass.Figures, k *keyOf, db int, tookUS int64) {
	if tookUS >= 0 {
		class.Holds.Add(tookUS)
	}
	st.countHeld(k, db, tookUS)
}

// countHeld counts a hold of a key.
func (st *lockEvents) countHeld(k *keyOf, db int, tookUS int64) {
	if weights := (hotkeys.Sums{tookUS, 1}); st.Held.Takes(&weights) {
		st.Held.Put(k.hashIn(st), db, k.text, weights)
	}
}

// countWaited counts a wait of a key: how long it was, or that it is one more.
func (st *lockEvents) countWaited(k *keyOf, db int, weights hotkeys.Sums) {
	if st.waited.Takes(&weights) {
		st.waited.Put(k.hashIn(st), db, k.text, weights)
	}
}

// heldUS returns for how long a lock has been held, in microseconds. The token is the time of the grant,
// unless tokens are ahead of the clock. The record has that time in milliseconds. If only that is known, the
// length is the least that it can be. More than a million grants a second put tokens ahead, and their holds
// are short. Up to a millisecond more for each would make their sum larger than the time that has passed.
func (st *lockEvents) heldUS(now, token int64, record uint64) int64 {
	since := token
	if record != 0 {
		if at := int64(record&recordTimeMask) * 1000; token < at || token > at+2000 {
			since = at + 999
		}
	} else if len(st.since) > 0 {
		if at, ok := st.since[token]; ok {
			delete(st.since, token)
			since = at
		}
	}
	if since == 0 || since > now+skewUS {
		return lockhistory.Unknown
	}
	return max(0, now-since)
}

// sinceMS returns when a lock was granted with a token, in milliseconds since 1970; 0: that is not known. The
// token is the time, as for heldUS.
func (st *lockEvents) sinceMS(now, token int64) int64 {
	if at, ok := st.since[token]; ok {
		token = at
	}
	if token > now+skewUS {
		return 0
	}
	return min(token, now) / 1000
}

// countWaiting counts a place in a queue that comes (1) or goes (-1).
func (st *lockEvents) countWaiting(w *waiting.Waiter, k *keyOf, by int64) *lockclass.Figures {
	class := st.classOf(k)
	class.Waiting += by
	if ParkedOf(w).lock.Semaphore() {
		class.PermitWaiting += by
	}
	return class
}

// permitsOf is how many permits a call waits for; 0: it is not a call on a semaphore.
func permitsOf(l *commands.WaitingLock, units int32) int32 {
	if l.Semaphore() {
		return units
	}
	return 0
}

// waitEvent adds an event of a wait for one of its keys.
func (ws *Waits) waitEvent(w *Parked, k *keyOf, kind lockhistory.Kind, why lockhistory.Reason, token, tookUS int64) {
	st := &ws.LockEvents
	if ws.Follows || !st.Ring.On() {
		return
	}
	e := lockhistory.Event{AtUS: ws.Store.NowUS(), DB: w.DB(), Kind: kind, Reason: why, Mode: w.lock.Mode(), Permits: permitsOf(&w.lock, w.Units()),
		Key: k.text, Owner: []byte(w.Owner()), Token: token, Client: w.Party.Number, Address: w.Party.Info.Addr, TookUS: tookUS}
	if trace, ok := w.lock.Trace(w.Words); ok {
		e.Trace = &trace
	}
	st.Ring.Add(&e)
}

// beganWait records that a call waits for locks: it is in their queues.
func (ws *Waits) beganWait(w *Parked) {
	if ws.LockEvents.Muted || w.lock.Limiter() {
		return
	}
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		k := keyOf{text: []byte(pl.Key())}
		ws.LockEvents.countWaiting(&w.Waiter, &k, 1)
		ws.LockEvents.countWaited(&k, w.DB(), hotkeys.Sums{0, 1})
		ws.waitEvent(w, &k, lockhistory.Queued, lockhistory.None, 0, lockhistory.Unknown)
	}
	if ws.Exporter != nil {
		ws.beginSpan(w)
	}
}

// endedWait records that a call waits no more. It is still in the queues. A grant has been recorded by the
// command.
func (ws *Waits) endedWait(w *Parked, granted bool) {
	why := ws.LockEvents.refused
	ws.LockEvents.refused = lockhistory.None
	if !w.OfLocks() || ws.LockEvents.Muted || w.lock.Limiter() {
		return
	}
	tookUS := max(0, ws.Store.NowUS()-w.sinceUS)
	if why == lockhistory.None {
		why = lockhistory.Disconnected
	}
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		k := keyOf{text: []byte(pl.Key())}
		class := ws.LockEvents.countWaiting(&w.Waiter, &k, -1)
		class.Waits.Add(tookUS)
		ws.LockEvents.countWaited(&k, w.DB(), hotkeys.Sums{tookUS, 0})
		switch {
		case granted:
		case why == deadlocked:
			class.Deadlocks++
			ws.waitEvent(w, &k, lockhistory.Deadlock, lockhistory.None, 0, tookUS)
		default:
			if why == lockhistory.Timeout {
				class.Timeouts++
			}
			ws.waitEvent(w, &k, lockhistory.Refused, why, 0, tookUS)
		}
	}
	if len(ws.LockEvents.Spans) > 0 {
		ws.endSpan(w, granted, why)
	}
}

// deadlocked is the value of lockEvents.refused for a wait that closes a deadlock cycle.
const deadlocked = ^lockhistory.Reason(0)

// RefuseFor says why the wait that is about to end gets no lock. The first reason counts.
func (ws *Waits) RefuseFor(why lockhistory.Reason) {
	if ws.LockEvents.refused == lockhistory.None {
		ws.LockEvents.refused = why
	}
}

// refusedAtOnce records that a call may not wait, because of a limit or of a deadlock. It is in no queue.
func (ws *Waits) refusedAtOnce(c *commands.Ctx, wait *commands.Wait, kind lockhistory.Kind, why lockhistory.Reason) {
	if wait.Owner == nil || ws.Follows || wait.Lock.Limiter() {
		return
	}
	st, s := &ws.LockEvents, partyOf(c)
	var trace *tracecontext.Context
	if c.Traced {
		trace = &c.Trace
	}
	for _, key := range wait.Keys {
		k := keyOf{text: key}
		if class := st.classOf(&k); kind == lockhistory.Deadlock {
			class.Deadlocks++
		} else {
			class.Refusals++
		}
		st.Ring.Add(&lockhistory.Event{AtUS: ws.Store.NowUS(), DB: c.DB.ID(), Kind: kind, Reason: why, Mode: wait.Lock.Mode(), Permits: permitsOf(&wait.Lock, wait.Units),
			Key: key, Owner: wait.Owner, Client: s.Number, Address: s.Info.Addr, Trace: trace})
	}
}

// whyRefused are the reasons of refusals of waits with NOTIFY.
var whyRefused = map[attach.Refusal]lockhistory.Reason{attach.Timeout: lockhistory.Timeout, attach.Deadlock: deadlocked, attach.WrongType: lockhistory.WrongType,
	attach.Cancelled: lockhistory.Cancelled, attach.Failover: lockhistory.Failover, attach.Denied: lockhistory.Denied, attach.Failed: lockhistory.Failed}

// lockEnds is store.LockEnds: no command on locks has ended the lock.
func (ws *Waits) lockEnds(db *store.DB, key []byte, end store.LockEnd) {
	if end.Expired && key != nil {
		ws.Server.LeaseEnded(db.ID(), key)
	}
	if ws.Follows || ws.Shard.Loading() || end.To == db && string(end.NewKey) == string(key) {
		return
	}
	st := &ws.LockEvents
	if key == nil {
		why := lockhistory.Flushed
		if end.Replaced {
			why = lockhistory.Swapped
		}
		class := st.Classes.All()[len(st.Classes.All())-1]
		class.Lost[lockclass.Deleted] += int64(end.Holders)
		ws.lossEvent(lockhistory.Event{DB: db.ID(), Kind: lockhistory.Lost, Reason: why, TookUS: lockhistory.Unknown})
		return
	}
	l := commands.StateOf(end.Lock)
	if end.Field != nil { // of a semaphore with many holders, the others are not looked at
		if h, held := commands.HolderOf(end.Lock, end.Field); held {
			ws.endHolder(db, key, &h, &l, &end)
		}
		return
	}
	commands.EachHolder(end.Lock, func(h commands.Holder) bool {
		ws.endHolder(db, key, &h, &l, &end)
		return true
	})
}

// endHolder records that a holder holds a lock no more, or at another key.
func (ws *Waits) endHolder(db *store.DB, key []byte, h *commands.Holder, l *commands.LockState, end *store.LockEnd) {
	if h.Token == 0 { // only Redisson's scripts know of it
		return
	}
	st, record := &ws.LockEvents, end.Record
	e := lockhistory.Event{DB: db.ID(), Kind: lockhistory.Lost, Reason: lockhistory.Deleted, Key: key, Owner: h.Owner, Token: h.Token}
	k := keyOf{text: key}
	class, loss := st.classOf(&k), lockclass.Deleted
	e.Mode, e.Permits = heldAs(h, l)
	if l.Shares > 0 {
		record = 0
	}
	switch {
	case end.Expired:
		e.Kind, e.Reason, loss = lockhistory.Expired, lockhistory.None, lockclass.Expired
	case end.Replaced:
		e.Reason, loss = lockhistory.Overwritten, lockclass.Overwritten
	case end.NewKey != nil:
		e.Reason = lockhistory.Renamed
	case ws.Server.RunsFor(string(h.Owner)):
		e.Kind, e.Reason, loss = lockhistory.Released, lockhistory.ByScript, -1
	}
	if loss >= 0 {
		class.Lost[loss]++
	}
	e.TookUS = st.heldUS(ws.Store.NowUS(), h.Token, record)
	st.endHold(class, &k, db.ID(), e.TookUS)
	if trace, ok := st.Traces[h.Token]; ok {
		if e.Trace = &trace; end.NewKey == nil {
			delete(st.Traces, h.Token)
		}
	}
	ws.lossEvent(e)
	if end.NewKey != nil {
		e.Kind, e.DB, e.Key, e.TookUS = lockhistory.Granted, end.To.ID(), end.NewKey, 0
		ws.lossEvent(e)
	}
}

// heldAs returns the mode in which a holder has a lock or a semaphore, and its permits; 0: it is a lock.
func heldAs(h *commands.Holder, l *commands.LockState) (mode lockhistory.Mode, permits int32) {
	switch {
	case l.Limit > 0:
		return lockhistory.Semaphore, int32(h.Shared)
	case h.Exclusive == 0:
		return lockhistory.Shared, 0
	}
	return lockhistory.Exclusive, 0
}

// lossEvent adds an event with the client of the running command, if one runs.
func (ws *Waits) lossEvent(e lockhistory.Event) {
	if e.AtUS = ws.Store.NowUS(); e.Kind != lockhistory.Expired {
		if p := ws.Shard.Running(); p != nil {
			e.Client, e.Address = p.Number, p.Info.Addr
		}
	}
	ws.LockEvents.Ring.Add(&e)
}

// grantEvent records what became of a grant after a wait with NOTIFY.
func (st *lockEvents) grantEvent(ws *Waits, g *waiting.Grant, kind lockhistory.Kind) {
	w := ParkedOf(g.Waiter)
	for i, key := range g.Keys {
		k := keyOf{text: []byte(key)}
		if kind == lockhistory.Unconfirmed {
			st.classOf(&k).Lost[lockclass.Unconfirmed]++
		}
		ws.waitEvent(w, &k, kind, lockhistory.None, g.Tokens[i], lockhistory.Unknown)
	}
}

// recordTimeMask is the part of a lock record that is a time.
const recordTimeMask = 1<<store.RecordTimeBits - 1
