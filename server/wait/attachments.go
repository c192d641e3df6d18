package wait

import (
	"bytes"
	"fmt"
	"slices"

	"lockserver/commands"
	"lockserver/server/attach"
	"lockserver/store"
)

// Connections that are attached for owners (LOCK.ATTACH). A renewal may then have no party: it goes on as
// long as its lock's owner is in the table of package attach. Everything that may end a lock leaves a doubt
// there (held, released, KeyMoved, observer.go). After each unit the doubts are looked at.

// mostOwners is for how many owners one connection may be attached.
const mostOwners = 1 << 16

// eachLockOf visits the locks of some owners in all databases, and returns how many of them s may read.
func (h attachHost) eachLockOf(s *Party, owners [][]byte, visit func(db *store.DB, key string, l commands.LockState)) (readable int64) {
	ws := h.waits
	wanted := make(map[string]bool, len(owners))
	for _, owner := range owners {
		wanted[string(owner)] = true
	}
	for id := range ws.Store.Len() {
		db := ws.Store.DB(id)
		commands.EachLock(db, func(key string, l commands.LockState) bool {
			if wanted[string(l.Owner)] {
				if s.User.MayRead(id, []byte(key)) {
					readable++
				}
				visit(db, key, l)
			}
			return true
		})
	}
	return readable
}

// attachPrefixes is the work of LOCK.ATTACH PREFIX. It looks at no locks but those under the prefixes, except
// if no session was attached to a prefix before: then the table learns of all locks.
func (h attachHost) attachPrefixes(s *Party, texts [][]byte) (locks int64) {
	ws := h.waits
	t := &ws.Watchdog.Attached
	for _, text := range texts {
		if t.AttachPrefix(s, &s.Attachments, text) {
			h.trackLocks()
		}
	}
	var adopted []func()
	locks = h.eachLockUnder(s, texts, func(db *store.DB, key string, l *commands.LockState) {
		adopted = h.maybeAdopt(s, db, key, l, adopted)
		ws.tellAttached(s, db.ID(), key, string(l.Owner))
	})
	for _, adopt := range adopted {
		adopt()
	}
	return locks
}

// trackLocks tells the table of all locks.
func (h attachHost) trackLocks() {
	ws := h.waits
	t := &ws.Watchdog.Attached
	for id := range ws.Store.Len() {
		commands.EachLock(ws.Store.DB(id), func(key string, l commands.LockState) bool {
			if t.Find(id, key, string(l.Owner)) == nil {
				t.Hold(t.Track(l.Owner), id, key, l.Token)
			}
			return true
		})
	}
}

// eachLockUnder visits the locks of the owners that begin with one of the prefixes, each lock once, and
// returns how many of them s may read.
func (h attachHost) eachLockUnder(s *Party, texts [][]byte, visit func(db *store.DB, key string, l *commands.LockState)) (readable int64) {
	ws := h.waits
	t := &ws.Watchdog.Attached
	ws.ResolveDoubts() // of what this unit has changed
	for i, text := range texts {
		within := func(other []byte) bool { return bytes.HasPrefix(text, other) }
		if slices.ContainsFunc(texts[:i], within) || slices.ContainsFunc(texts[i+1:], func(other []byte) bool {
			return len(other) < len(text) && within(other)
		}) {
			continue
		}
		t.EachUnder(string(text), func(of *attach.Lock[*Party]) {
			db := ws.Store.DB(of.DB)
			if l, held := commands.LockOf(db, []byte(of.Key), []byte(of.Owner.Name)); held {
				if s.User.MayRead(of.DB, []byte(of.Key)) {
					readable++
				}
				visit(db, of.Key, &l)
			}
		})
	}
	return readable
}

// countLocksUnder returns the result of eachLockUnder, by a look at all locks.
func (h attachHost) countLocksUnder(s *Party, texts [][]byte) (readable int64) {
	ws := h.waits
	for id := range ws.Store.Len() {
		commands.EachLock(ws.Store.DB(id), func(key string, l commands.LockState) bool {
			under := slices.ContainsFunc(texts, func(text []byte) bool { return bytes.HasPrefix(l.Owner, text) })
			if under && s.User.MayRead(id, []byte(key)) {
				readable++
			}
			return true
		})
	}
	return readable
}

// maybeAdopt appends to adopted what is to be done for s to keep a lock alive that the server is to renew and
// does not.
func (h attachHost) maybeAdopt(s *Party, db *store.DB, key string, l *commands.LockState, adopted []func()) []func() {
	ws := h.waits
	// plant:adopt
	if !l.Watched || !s.User.MayWrite(db.ID(), []byte(key)) || h.renews(db, []byte(key), l) {
		return adopted
	}
	owner, token, shared := commands.Clone(l.Owner), l.Token, l.Shares > 0
	return append(adopted, func() { ws.adopt(db, []byte(key), owner, token, shared) })
}

// renews reports whether the server renews a lock already.
func (h attachHost) renews(db *store.DB, key []byte, l *commands.LockState) bool {
	ws := h.waits
	if l.Shares == 0 {
		r, ok := ws.Watchdog.renewalOf(db, key, l)
		s := sessionFor(r.Keeper)
		return ok && (s == nil || !s.Ended())
	}
	r := ws.Watchdog.shares.find(db.ID(), key, l.Owner)
	return r != nil && r.token == l.Token && (r.party == nil || !r.party.Ended())
}

// adopt begins to renew a lock that is renewed for no session. A session is attached for its owner.
func (ws *Waits) adopt(db *store.DB, key, owner []byte, token int64, shared bool) {
	if !shared {
		ws.Watchdog.renewNow(db, key, owner, token)
		return
	}
	r := ws.Watchdog.shares.of(db.ID(), key, owner)
	r.leave() // its purpose is gone
	r.token = token
	ws.Watchdog.renewShare(r, ws.Store.NowMS())
}

// detach ends that a session keeps an owner alive, and detachPrefix the same of a prefix.
func (ws *Waits) detach(s *Party, owner string) {
	ws.stopKeeping(ws.Watchdog.Attached.Detach(s, &s.Attachments, owner))
}

func (ws *Waits) detachPrefix(s *Party, prefix string) {
	ws.KeptPlaces.prolong(ws)
	ws.stopKeeping(ws.Watchdog.Attached.DetachPrefix(s, &s.Attachments, prefix))
}

// stopKeeping renews locks no longer that no session is attached to. The session that acquired a lock goes on
// with it. The table returns a bounded number of locks. The renewals of the others end when they are due: no
// session is left for them.
func (ws *Waits) stopKeeping(locks []*attach.Lock[*Party]) {
	w := &ws.Watchdog
	for _, l := range locks {
		db, key, owner := ws.Store.DB(l.DB), []byte(l.Key), []byte(l.Owner.Name)
		if r, ok := db.Renewal(key); ok && r.Keeper == nil && r.Pin == w.pinOf(owner, l.Token) {
			db.StopRenewing(key)
		}
		if r := w.shares.find(l.DB, key, owner); r != nil && r.party == nil {
			w.shares.drop(r)
		}
	}
	if !w.Attached.InUse() {
		ws.Server.Observe()
		ws.Server.FollowEvents()
	}
	ws.forgetAttached(DueBudget)
}

// DetachAll is detach for all owners of a session.
func (ws *Waits) DetachAll(s *Party) {
	if s.Attachments.Len() == 0 {
		return
	}
	for _, owner := range s.Attachments.Names() {
		ws.detach(s, owner)
	}
	for _, prefix := range s.Attachments.Prefixes() {
		ws.detachPrefix(s, prefix)
	}
}

// ResolveDoubts looks at locks that may have changed hands in this unit, and tells of those that were lost.
func (ws *Waits) ResolveDoubts() {
	t := &ws.Watchdog.Attached
	for _, d := range t.TakeDoubts() {
		db := ws.Store.DB(d.DB)
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
				ws.tellLoss(l, why)
			}
		}
		if !held {
			continue
		}
		if o := t.Track([]byte(d.Owner)); o != nil {
			t.Hold(o, d.DB, d.Key, token)
		}
	}
}

// tellLoss sends the notice of a lost lock.
func (ws *Waits) tellLoss(l *attach.Lock[*Party], why attach.Reason) {
	ws.Outcomes++
	n := attach.LossOf(l.Owner.Name, l.Key, l.Token, why)
	attachHost{ws}.tell(l.DB, &n)
}

// attachHost is the server as LOCK.ATTACH and LOCK.DETACH see it.
type attachHost struct{ waits *Waits }

var _ attach.Attacher = attachHost{}

// tell sends a notice as a push to the sessions that are attached for its owner, if they may read the key. It
// publishes the notice to the subscribers of the owner's channel. It returns the number of pushes.
func (h attachHost) tell(db int, n *attach.Notice) (heard int64) {
	ws := h.waits
	to, byOwner := ws.Watchdog.Attached.All([]byte(n.Owner))
	if len(to) == 0 {
		return 0
	}
	ws.push = n.AppendPush(ws.push[:0], false)
	end := len(ws.push)
	ws.push = n.AppendPush(ws.push, true)
	push, withOwner := ws.push[:end], ws.push[end:]
	for i, s := range to {
		if s.Out.Proto < 3 || !s.User.MayRead(db, []byte(n.Key)) {
			continue
		}
		if heard++; i < byOwner {
			s.Client.Deliver(push)
		} else {
			s.Client.Deliver(withOwner)
		}
	}
	ws.sparePush()
	if ws.Server.AnyoneListens() {
		ws.Server.Publish(n.Message())
	}
	return heard
}

// AttachHostOf is the host of the server that runs the command.
func AttachHostOf(c *commands.Ctx) attach.Attacher { return attachHost{partyOf(c).Waits} }

// Attach implements attach.Attacher. The locks that the server is to renew, and does not, begin a lease anew.
func (h attachHost) Attach(c *commands.Ctx, names [][]byte, prefixes bool) (locks int64, err error) {
	ws, s := h.waits, partyOf(c)
	t := &ws.Watchdog.Attached
	if s.Attachments.Len()+len(names) > mostOwners {
		return 0, commands.Error(fmt.Sprintf("ERR a connection cannot be attached to more than %d owners", mostOwners))
	}
	if !t.InUse() {
		defer func() {
			ws.Server.Observe()
			ws.Server.FollowEvents()
		}()
	}
	defer ws.KeptPlaces.adopt(s, names, prefixes)
	ws.watchOver(s)
	if prefixes {
		return h.attachPrefixes(s, names), nil
	}
	for _, owner := range names {
		t.Attach(s, &s.Attachments, owner)
	}
	var adopted []func()
	locks = h.eachLockOf(s, names, func(db *store.DB, key string, l commands.LockState) {
		if t.Find(db.ID(), key, string(l.Owner)) == nil {
			t.Hold(t.Owner(l.Owner), db.ID(), key, l.Token)
		}
		adopted = h.maybeAdopt(s, db, key, &l, adopted)
		ws.tellAttached(s, db.ID(), key, string(l.Owner))
	})
	for _, adopt := range adopted {
		adopt()
	}
	return locks, nil
}

// Detach implements attach.Attacher.
func (h attachHost) Detach(c *commands.Ctx, names [][]byte, prefixes bool) (locks int64) {
	ws, s := h.waits, partyOf(c)
	defer ws.DetachedFrom(s, names, prefixes)
	if prefixes {
		if ws.Watchdog.Attached.HasPrefixes() {
			locks = h.eachLockUnder(s, names, func(*store.DB, string, *commands.LockState) {})
		} else { // no connection is attached to a prefix, so there is no order of the owners
			locks = h.countLocksUnder(s, names)
		}
		for _, prefix := range names {
			ws.detachPrefix(s, string(prefix))
		}
		return locks
	}
	locks = h.eachLockOf(s, names, func(*store.DB, string, commands.LockState) {})
	// plant:detach
	for _, owner := range names {
		ws.detach(s, string(owner))
	}
	return locks
}
