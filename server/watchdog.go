package server

import (
	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// renewals are those of one database, by key.
type renewals struct {
	db    int
	byKey map[string]*renewal
}

// watchdog holds the renewals of all locks. It is only touched under the executor.
type watchdog struct {
	timers timers // of the renewals alone
	dbs    []*renewals
	count  int
}

func (w *watchdog) open(databases int) {
	w.dbs = make([]*renewals, databases)
	for i := range w.dbs {
		w.dbs[i] = &renewals{db: i, byKey: make(map[string]*renewal)}
	}
}

// find returns the renewal of a key's lock, nil if there is none.
func (w *watchdog) find(db *store.DB, key []byte) *renewal {
	if w.count == 0 {
		return nil
	}
	return w.dbs[db.ID()].byKey[string(key)]
}

// Renew implements commands.Host.
func (ex *executor) renew(c *commands.Ctx, key, owner []byte, token int64) {
	s := c.Session.(*session)
	r := ex.watchdog.find(c.DB, key)
	if r == nil {
		r = &renewal{}
		r.timer.Of = r
		ex.watchdog.put(r, ex.watchdog.dbs[c.DB.ID()], string(key))
	}
	if r.session != s {
		r.leave()
		r.join(s)
	}
	r.owner = append(r.owner[:0], owner...)
	r.token = token
	ex.watchOver(s)
	ex.watchdog.timers.set(&r.timer, c.NowMS()+ex.settings.LockWatchdogMS/renewalsPerLease)
}

func (w *watchdog) put(r *renewal, in *renewals, key string) {
	r.in, r.key = in, key
	in.byKey[key] = r
	w.count++
}

// join makes s the session that the renewal lives with.
func (r *renewal) join(s *session) {
	r.session = s
	if r.next = s.renewals; r.next != nil {
		r.next.prev = r
	}
	s.renewals = r
}

// leave is the opposite of join.
func (r *renewal) leave() {
	if r.session == nil {
		return
	}
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		r.session.renewals = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	r.session, r.prev, r.next = nil, nil, nil
}

// StopRenewing implements commands.Host.
func (ex *executor) stopRenewing(c *commands.Ctx, key []byte) {
	if r := ex.watchdog.find(c.DB, key); r != nil {
		ex.watchdog.drop(r)
	}
}

// take removes a renewal from its key.
func (w *watchdog) take(r *renewal) {
	delete(r.in.byKey, r.key)
	w.count--
}

func (w *watchdog) drop(r *renewal) {
	w.take(r)
	w.timers.stop(&r.timer)
	r.leave()
}

// forget ends every renewal of a session that has gone.
func (w *watchdog) forget(s *session) {
	for s.renewals != nil {
		w.drop(s.renewals)
	}
}

// fire implements firer.
func (r *renewal) fire(ex *executor) { r.renew(ex, ex.store.NowMS()) }

// renew extends the lock's lease at now (milliseconds since 1970), or ends the renewal if the
// lock is no longer held as it was. A client that has been silent for a while gets the less, and
// is looked after again the sooner.
func (r *renewal) renew(ex *executor, now int64) {
	lease, end := ex.settings.LockWatchdogMS, r.session.pulse.lifeEndMS(ex, now)
	held, extended := commands.ExtendLock(ex.store.DB(r.in.db), r.owner, []byte(r.key), r.token, end)
	if !held {
		ex.watchdog.drop(r)
		return
	}
	if extended {
		ex.notify(ex.store.DB(r.in.db), keyevent.Generic, "renew", []byte(r.key))
	}
	next := lease / renewalsPerLease
	if left := (end - now) / renewalsPerLease; left < next-next/4 {
		next = max(left, min(next, leastPulseMS))
	}
	ex.watchdog.timers.set(&r.timer, now+next)
}

// late reports whether renewals are so late that their leases may be over soon:
// another third of the lease is gone.
func (ex *executor) late() bool {
	at, ok := ex.watchdog.timers.nextMS()
	return ok && at <= ex.store.NowMS()-ex.settings.LockWatchdogMS/renewalsPerLease
}

// catchUp does the renewals that should have been done long ago: the process did not run for a while, or the
// clock was set forwards. They fell due before the leases ended, so the locks are still their holders', who
// have not gone as far as the server knows; a command that ran first would find the leases over. Each is done
// as of its own time, but its new lease begins now.
func (ex *executor) catchUp() {
	w, nowMS, nowUS := &ex.watchdog, ex.store.NowMS(), ex.store.NowUS()
	for ex.late() {
		at, _ := w.timers.nextMS()
		steps := 1
		if t := w.timers.queue.Pop(at, &steps); t != nil {
			ex.store.SetNow(at * 1000)
			t.Of.(*renewal).renew(ex, nowMS)
			ex.store.SetNow(nowUS)
		}
	}
	ex.endUnit()
}

// KeyMoved implements store.Follower: a lock is renewed wherever RENAME or MOVE takes it.
func (w *watchdog) KeyMoved(db int, key []byte, to int, newKey []byte) {
	r, other := w.dbs[db].byKey[string(key)], w.dbs[to].byKey[string(newKey)]
	if other != nil && other != r {
		w.drop(other) // that lock was overwritten
	}
	if r != nil {
		w.take(r)
		w.put(r, w.dbs[to], string(newKey))
	}
}

// DatabasesSwapped implements store.Follower.
func (w *watchdog) DatabasesSwapped(a, b int) {
	w.dbs[a], w.dbs[b] = w.dbs[b], w.dbs[a]
	w.dbs[a].db, w.dbs[b].db = a, b
}

// A holder's note is the low bits of its client's number and the millisecond in which it acquired the lock:
// all that is worth eight bytes of each lock.
const (
	noteTimeBits = 42 // milliseconds since 1970, until 2109
	noteTimeMask = 1<<noteTimeBits - 1
	noteIDs      = 1 << (64 - noteTimeBits)
)

// holderNote is the note of a lock that is acquired now, or was then by another client of the same owner.
func (ex *executor) holderNote(c *commands.Ctx, was uint64) uint64 {
	since := c.NowMS()
	if was != 0 {
		since = int64(was & noteTimeMask)
	}
	if since <= 0 || since > noteTimeMask {
		return 0
	}
	return uint64(c.Session.ID())<<noteTimeBits | uint64(since)
}

// holderOf reads a note: when the lock was acquired, 0 if that is not known, and by whom, nil if that client
// has gone. Of several clients with the same low bits it is the last one that was there already.
func (ex *executor) holderOf(note uint64) (s *session, sinceMS int64) {
	if note == 0 {
		return nil, 0
	}
	sinceMS = int64(note & noteTimeMask)
	low := int64(note >> noteTimeBits)
	for id := ex.lastID - (ex.lastID-low)&(noteIDs-1); id > 0; id -= noteIDs {
		if s := ex.clients[id]; s != nil && s.info.createdUS/1000 <= sinceMS {
			return s, sinceMS
		}
	}
	return nil, sinceMS
}
