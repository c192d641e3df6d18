package server

import (
	"lockserver/commands"
)

// renewalsPerLease is how often the watchdog renews within one lease, as Redisson's does.
const renewalsPerLease = 3

// lockKey names a lock across databases.
type lockKey struct {
	db  int
	key string
}

// renewal keeps one lock's lease from running out while the session that acquired it lives.
type renewal struct {
	lock       lockKey
	owner      []byte
	token      int64
	session    *session
	prev, next *renewal // the others of the session
	timer      timer
}

// watchdog holds the renewals of all locks. It is only touched under the executor.
type watchdog struct {
	renewals map[lockKey]*renewal
}

// Renew implements commands.Host.
func (srv *Server) Renew(c *commands.Ctx, key, owner []byte, token int64) {
	ex := &srv.executor
	s := c.Session.(*session)
	r := ex.watchdog.renewals[lockKey{c.DB.ID(), string(key)}]
	if r == nil {
		r = &renewal{lock: lockKey{c.DB.ID(), string(key)}}
		r.timer.Of = r
		ex.watchdog.renewals[r.lock] = r
	}
	if r.session != s {
		r.leave()
		r.join(s)
	}
	r.owner = append(r.owner[:0], owner...)
	r.token = token
	if !s.guarded {
		s.guarded = true
		s.transport.guardPeer(ex.settings.LockWatchdogMS)
	}
	ex.timers.set(&r.timer, c.NowMS()+ex.settings.LockWatchdogMS/renewalsPerLease)
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
func (srv *Server) StopRenewing(c *commands.Ctx, key []byte) {
	if len(srv.watchdog.renewals) == 0 {
		return
	}
	if r := srv.watchdog.renewals[lockKey{c.DB.ID(), string(key)}]; r != nil {
		srv.watchdog.drop(&srv.executor, r)
	}
}

func (w *watchdog) drop(ex *executor, r *renewal) {
	ex.timers.stop(&r.timer)
	delete(w.renewals, r.lock)
	r.leave()
}

// forget ends every renewal of a session that has gone.
func (w *watchdog) forget(ex *executor, s *session) {
	for s.renewals != nil {
		w.drop(ex, s.renewals)
	}
}

// fire implements firer: the lock gets a new lease, or the renewal ends if the lock is no longer held as it was.
func (r *renewal) fire(ex *executor) {
	lease := ex.settings.LockWatchdogMS
	now := ex.store.NowMS()
	if !commands.ExtendLock(ex.store.DB(r.lock.db), r.owner, []byte(r.lock.key), r.token, now+lease) {
		ex.watchdog.drop(ex, r)
		return
	}
	ex.timers.set(&r.timer, now+lease/renewalsPerLease)
}
