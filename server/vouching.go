package server

import (
	"lockserver/commands"
	"lockserver/server/attach"
	"lockserver/store"
	"lockserver/store/renewals"
)

// Connections that vouch for owners (LOCK.ATTACH). A renewal may then have no session: it goes on as long as
// its lock's owner stands in the table of package attach, to which everything that may end a lock leaves a
// doubt (held, released, KeyMoved, observer.go). After each unit the doubts are looked at.

// mostOwners is for how many owners one connection may vouch.
const mostOwners = 1 << 16

// eachLockOf visits the locks of some owners in all databases, and returns how many of them s may read.
func (ex *executor) eachLockOf(s *session, owners [][]byte, visit func(db *store.DB, key string, l commands.LockState)) (readable int64) {
	wanted := make(map[string]bool, len(owners))
	for _, owner := range owners {
		wanted[string(owner)] = true
	}
	for id := range ex.store.Len() {
		db := ex.store.DB(id)
		commands.EachLock(db, func(key string, l commands.LockState) bool {
			if wanted[string(l.Owner)] {
				if s.user.MayRead(id, []byte(key)) {
					readable++
				}
				visit(db, key, l)
			}
			return true
		})
	}
	return readable
}

// renews reports whether the server renews a lock already.
func (ex *executor) renews(db *store.DB, key []byte, l *commands.LockState) bool {
	if l.Shares == 0 {
		_, ok := ex.watchdog.renewalOf(db, key, l)
		return ok
	}
	r := ex.watchdog.shares.find(db.ID(), key, l.Owner)
	return r != nil && r.token == l.Token
}

// adopt begins to renew a lock of an owner for whom somebody vouches, and which is renewed for no session.
func (ex *executor) adopt(db *store.DB, key, owner []byte, token int64, shared bool) {
	if !shared {
		ex.renewNow(db, key, owner, token)
		return
	}
	r := ex.watchdog.shares.of(db.ID(), key, owner)
	r.leave() // what it was for is gone
	r.token = token
	r.renew(ex, ex.store.NowMS())
}

// cutLocks makes the leases of a session's locks end at endMS, but of those for whose owners others vouch.
func (ex *executor) cutLocks(s *session, endMS int64) {
	w := &ex.watchdog
	var held []store.RenewedKey
	ex.store.EachOf(s.keeper, func(db *store.DB, key string, r renewals.Renewal) {
		held = append(held, store.RenewedKey{DB: db, Key: key, Renewal: r})
	})
	for _, k := range held {
		key := []byte(k.Key)
		l, err := commands.FindLock(k.DB, key)
		if err == nil && l.Holds > 0 && w.pinOf(l.Owner, l.Token) == k.Renewal.Pin && !w.attached.VouchedBesides(s, l.Owner) {
			commands.CutLock(k.DB, l.Owner, key, l.Token, endMS)
		}
	}
	for r := s.shares; r != nil; r = r.next {
		if !w.attached.VouchedBesides(s, r.owner) {
			commands.CutLock(ex.store.DB(r.in.db), r.owner, []byte(r.key), r.token, endMS)
		}
	}
}

// detach ends that a session vouches for an owner. What nobody vouches for any more, and no session that
// acquired it lives for, is renewed no longer.
func (ex *executor) detach(s *session, owner string) {
	w := &ex.watchdog
	for _, l := range w.attached.Detach(s, &s.vouches, owner) {
		db, key := ex.store.DB(l.DB), []byte(l.Key)
		if r, ok := db.Renewal(key); ok && r.Keeper == nil && r.Pin == w.pinOf([]byte(owner), l.Token) {
			db.StopRenewing(key)
		}
		if r := w.shares.find(l.DB, key, []byte(owner)); r != nil && r.session == nil {
			w.shares.drop(r)
		}
	}
	if !w.attached.InUse() {
		ex.observe()
		ex.followEvents()
	}
}

// detachAll is detach for all owners of a session.
func (ex *executor) detachAll(s *session) {
	if s.vouches.Len() == 0 {
		return
	}
	for _, owner := range s.vouches.Names() {
		ex.detach(s, owner)
	}
}

// settleDoubts looks at locks that may have changed hands in this unit, and tells of those that were lost.
func (ex *executor) settleDoubts() {
	t := &ex.watchdog.attached
	for _, d := range t.TakeDoubts() {
		db := ex.store.DB(d.DB)
		token, held := commands.HoldOf(db, []byte(d.Key), []byte(d.Owner))
		l := t.Find(d.DB, d.Key, d.Owner)
		if l != nil && held && l.Token == token {
			l.Holds()
			continue
		}
		if l != nil {
			found := attach.Deleted
			if db.Peek([]byte(d.Key)).OK() {
				found = attach.Overwritten
			}
			if why := t.Lose(l, found); why != attach.Released {
				ex.tellLoss(l, why)
			}
		}
		if o := t.Owner([]byte(d.Owner)); held && o != nil {
			t.Hold(o, d.DB, d.Key, token)
		}
	}
}

// tellLoss tells those who vouch for the owner of a lock, if they may read the key, and whoever listens to
// the owner's channel.
func (ex *executor) tellLoss(l *attach.Lock[*session], why attach.Reason) {
	loss := attach.Loss{Owner: l.Owner.Name, Key: l.Key, Token: l.Token, Why: why}
	push := loss.Push()
	for _, s := range l.Owner.By {
		if s.out.Proto >= 3 && s.user.MayRead(l.DB, []byte(l.Key)) {
			ex.deliver(s, push)
		}
	}
	if ex.AnyoneListens() {
		ex.publish(loss.Message())
	}
}
