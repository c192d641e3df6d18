package server

import (
	"lockserver/commands"
	"lockserver/store"
	"lockserver/store/renewals"
)

// What is left to do when a session has ended for which the server has renewed leases. There may be a hundred
// thousand of them. So a slice of them ends at once, and the others one at a time as they are due. Other
// units run in between. Until then they look like renewals, but nothing is renewed for a session that has
// ended.

// departure is the rest of that work for a session.
type departure struct {
	session *session
	cutMS   int64 // when the leases of its locks end at the latest; 0: they end by themselves
	timer   timer
}

// depart begins it. It may be called more than once.
func (ex *executor) depart(s *session) {
	if s.departed || !s.keeps() {
		s.departed = true
		return
	}
	s.departed = true
	d := &departure{session: s}
	d.timer.Of = d
	if s.lost.Load() {
		d.cutMS = ex.cutMS(s)
	}
	if d.forget(ex, dueBudget) {
		ex.timers.set(&d.timer, ex.store.NowMS())
	}
}

// fire implements firer.
func (d *departure) fire(ex *executor) {
	if d.forget(ex, 1) {
		ex.timers.set(&d.timer, ex.store.NowMS())
	}
}

// forget ends the renewals of so many leases, and says whether there are more. A lease goes on to be renewed
// if other sessions are attached for its owner.
func (d *departure) forget(ex *executor, most int) (more bool) {
	s, w := d.session, &ex.watchdog
	if d.cutMS != 0 {
		d.cut(ex, most)
	}
	ex.store.Leave(s.keeper, most, func(_ *store.DB, of store.Ref, r renewals.Renewal) bool {
		if !w.attached.InUse() {
			return false
		}
		owner, token := commands.OwnerOf(of)
		// plant:keep-renewal
		return w.pinOf(owner, token) == r.Pin && w.attached.IsAttached(owner)
	})
	w.shares.forget(s, &w.attached, most)
	return s.keeps()
}

// cut makes the leases that forget will look at end at cutMS, except if other sessions are attached for the
// owner.
func (d *departure) cut(ex *executor, most int) {
	s, w := d.session, &ex.watchdog
	held := make([]store.RenewedKey, 0, min(most, s.keeper.Len()))
	ex.store.EachOf(s.keeper, most, func(db *store.DB, key string, r renewals.Renewal) {
		held = append(held, store.RenewedKey{DB: db, Key: key, Renewal: r})
	})
	for _, k := range held {
		key := []byte(k.Key)
		l, err := commands.FindLock(k.DB, key)
		if err == nil && l.Holds > 0 && w.pinOf(l.Owner, l.Token) == k.Renewal.Pin && !w.attached.AttachedByOther(s, l.Owner) {
			commands.CutLock(k.DB, l.Owner, key, l.Token, d.cutMS)
		}
	}
	for r := s.shares; r != nil && most > 0; r, most = r.next, most-1 {
		if !w.attached.AttachedByOther(s, r.owner) {
			commands.CutLock(ex.store.DB(r.in.db), r.owner, []byte(r.key), r.token, d.cutMS)
		}
	}
}

// forgetAttached makes the table of attached sessions forget what it need not know any more.
func (ex *executor) forgetAttached(most int) {
	if w := &ex.watchdog; w.attached.Forget(most) {
		w.forgetting.Of = (*forgetting)(w)
		ex.timers.set(&w.forgetting, ex.store.NowMS())
	}
}

// forgetting is what falls due while there is more to forget.
type forgetting watchdog

// fire implements firer.
func (*forgetting) fire(ex *executor) { ex.forgetAttached(1) }
