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
	lock    lockKey
	owner   []byte
	token   int64
	session *session
	timer   timer
}

// watchdog holds the renewals of all locks. It is only touched under the executor.
type watchdog struct {
	renewals map[lockKey]*renewal
}

// Renew implements commands.Host.
func (srv *Server) Renew(c *commands.Ctx, key, owner []byte, token int64) {
	ex := &srv.executor
	s := c.Session.(*session)
	w := &ex.watchdog
	r := w.renewals[lockKey{c.DB.ID(), string(key)}]
	if r == nil {
		r = &renewal{lock: lockKey{c.DB.ID(), string(key)}}
		r.timer = timer{pos: -1, fire: func() { ex.renew(r) }}
		w.renewals[r.lock] = r
	} else if r.session != s {
		delete(r.session.watched, r.lock)
	}
	r.owner = append(r.owner[:0], owner...)
	r.token, r.session = token, s
	if s.watched == nil {
		s.watched = make(map[lockKey]*renewal)
	}
	s.watched[r.lock] = r
	if !s.guarded {
		s.guarded = true
		s.transport.guardPeer(ex.settings.LockWatchdogMS)
	}
	ex.timers.set(&r.timer, c.NowMS()+ex.settings.LockWatchdogMS/renewalsPerLease)
}

// StopRenewing implements commands.Host.
func (srv *Server) StopRenewing(c *commands.Ctx, key []byte) {
	if r := srv.watchdog.renewals[lockKey{c.DB.ID(), string(key)}]; r != nil {
		srv.watchdog.drop(&srv.executor, r)
	}
}

func (w *watchdog) drop(ex *executor, r *renewal) {
	ex.timers.stop(&r.timer)
	delete(w.renewals, r.lock)
	delete(r.session.watched, r.lock)
}

// forget ends every renewal of a session that has gone.
func (w *watchdog) forget(ex *executor, s *session) {
	for _, r := range s.watched {
		ex.timers.stop(&r.timer)
		delete(w.renewals, r.lock)
	}
	s.watched = nil
}

// renew gives a lock a new lease, or ends the renewal if the lock is no longer held as it was.
func (ex *executor) renew(r *renewal) {
	lease := ex.settings.LockWatchdogMS
	now := ex.store.NowMS()
	if !commands.ExtendLock(ex.store.DB(r.lock.db), r.owner, []byte(r.lock.key), r.token, now+lease) {
		ex.watchdog.drop(ex, r)
		return
	}
	ex.timers.set(&r.timer, now+lease/renewalsPerLease)
}
