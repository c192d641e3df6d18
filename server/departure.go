package server

import (
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/server/acl"
	"lockserver/server/attach"
	"lockserver/store"
	"lockserver/store/due"
	"lockserver/store/renewals"
)

// What is left to do when a session has ended: the leases that the server has renewed for it, and the places
// that it has kept for waits with NOTIFY. There may be a hundred thousand of each. So a slice of the leases
// ends at once, and the others one at a time as they are due. Other units run in between. Until then they
// look like renewals, but nothing is renewed for a session that has ended. The places go to attached sessions
// in the same way, and so do those of a session that detaches.

// departure is the rest of that work for the leases of a session.
type departure struct {
	session *session
	cutMS   int64 // when the leases of its locks end at the latest; 0: they end by themselves
	timer   due.Timer
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
		ex.timers.Set(&d.timer, ex.store.NowMS())
	}
}

// Fire implements due.Firer.
func (d *departure) Fire() {
	ex := d.session.executor
	if d.forget(ex, 1) {
		ex.timers.Set(&d.timer, ex.store.NowMS())
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
		w.forgetting.Of = forgetting{ex}
		ex.timers.Set(&w.forgetting, ex.store.NowMS())
	}
}

// forgetting is what falls due while there is more to forget.
type forgetting struct{ *executor }

// Fire implements due.Firer.
func (f forgetting) Fire() { f.forgetAttached(1) }

// leftPlaces are the waits of sessions that have ended, as long as places are kept.
type leftPlaces struct {
	executor    *executor // set with the timer
	first, last *queuedWaits
	cursor      *queuedWaits // the next ones to look for sessions anew
	again       bool         // all of them have to then, once more
	timer       due.Timer
	looked      int // how many waits were looked at for a session that attached, detached or ended
}

// leavePlaces begins to look for sessions that keep the places of the waits of one that has ended. It may be
// called more than once.
func (ex *executor) leavePlaces(s *session) {
	if ws := s.queued; ws != nil && !ws.gone && ws.count > 0 {
		// plant:leave-places
		ws.gone, ws.untilMS = true, ex.store.NowMS()+ex.renewEveryMS()
		ws.cursor, ws.again = ws.first, false
		ex.leftPlaces.add(ws)
		ex.timers.Set(&ws.timer, ex.store.NowMS())
	}
}

func (l *leftPlaces) add(ws *queuedWaits) {
	ws.kept, ws.older, ws.newer = true, l.last, nil
	if l.last != nil {
		l.last.newer = ws
	} else {
		l.first = ws
	}
	l.last = ws
}

func (l *leftPlaces) remove(ws *queuedWaits) {
	if !ws.kept {
		return
	}
	if l.cursor == ws {
		l.cursor = ws.newer
	}
	if ws.older != nil {
		ws.older.newer = ws.newer
	} else {
		l.first = ws.newer
	}
	if ws.newer != nil {
		ws.newer.older = ws.older
	} else {
		l.last = ws.older
	}
	ws.kept, ws.older, ws.newer = false, nil, nil
}

// adopt looks anew for sessions that keep the places of waits: s has attached to owners, or to prefixes. The
// waits of an owner are found by its name, and are few. For a prefix all are looked at: as many as a unit may
// now, and the others a few in a slice.
func (l *leftPlaces) adopt(s *session, names [][]byte, prefixes bool) {
	ex := s.executor
	if l.first == nil {
		return
	}
	takeOver := func(w *queuedWait) {
		if of := w.session.queued; of.gone && !of.denied && w.writable(s.user) {
			ex.takeOver(w, s, true)
		}
	}
	if prefixes && !l.eachUnder(names, takeOver) || !prefixes && !ex.eachQueuedOf(names, takeOver) {
		l.lookAgain(ex)
	}
}

// eachUnder visits the waits of owners that begin with one of the prefixes. False: they are too many to be
// looked at in one unit, and not all were visited.
func (l *leftPlaces) eachUnder(prefixes [][]byte, visit func(w *queuedWait)) (all bool) {
	left := dueBudget
	for ws := l.first; ws != nil; ws = ws.newer {
		for w := ws.first; w != nil; {
			if left--; left < 0 {
				return false
			}
			l.looked++
			next := w.next // visit may take it out
			if !w.Granted() && slices.ContainsFunc(prefixes, func(p []byte) bool { return strings.HasPrefix(w.Owner(), string(p)) }) {
				visit(w)
			}
			w = next
		}
	}
	return true
}

// prolong keeps all places as long as if their sessions ended now. It is called when a session that is
// attached to a prefix goes. Of the places that were not looked at since it attached, it would have kept
// some.
func (l *leftPlaces) prolong(ex *executor) {
	if l.cursor == nil {
		return
	}
	for ws := l.first; ws != nil; ws = ws.newer {
		if !ws.ending {
			ws.untilMS = ex.store.NowMS() + ex.renewEveryMS()
		}
	}
}

// lookAgain makes all of them look for sessions.
func (l *leftPlaces) lookAgain(ex *executor) {
	if l.cursor != nil {
		l.again = true
		return
	}
	l.cursor, l.timer.Of, l.executor = l.first, l, ex
	ex.timers.Set(&l.timer, ex.store.NowMS())
}

// Fire implements due.Firer.
func (l *leftPlaces) Fire() {
	ex := l.executor
	if ws := l.cursor; ws != nil {
		l.cursor = ws.newer
		ws.lookAgain(ex)
	}
	if l.cursor == nil && l.again {
		l.again, l.cursor = false, l.first
	}
	if l.cursor != nil {
		ex.timers.Set(&l.timer, ex.store.NowMS())
	}
}

// eachQueuedOf visits the waits with NOTIFY of owners. False: they are too many for one unit, and not all
// were visited.
func (ex *executor) eachQueuedOf(names [][]byte, visit func(w *queuedWait)) (all bool) {
	left := dueBudget
	for _, name := range names {
		o := ex.queues.Owner(name)
		if o == nil {
			continue
		}
		for w := o.First(); w != nil; w = w.Younger() {
			ex.leftPlaces.looked++
			if left--; left < 0 {
				return false
			}
			if of, ok := w.Call().(*queuedWait); ok {
				visit(of)
			}
		}
	}
	return true
}

// lookAgain begins to look at all of them, or begins anew.
func (ws *queuedWaits) lookAgain(ex *executor) {
	switch {
	case ws.ending:
	case ws.cursor != nil:
		ws.again = true
	case ws.first != nil:
		ws.cursor = ws.first
		ex.timers.Set(&ws.timer, ex.store.NowMS())
	}
}

// Fire implements due.Firer. Right after the end of the session its waits go to attached sessions, as many
// as have one. The others wait for one until their time is over, or for their owner to ask again.
func (ws *queuedWaits) Fire() {
	ex := ws.executor
	if !ws.gone {
		if ws.giveUpOne(ex) {
			ex.timers.Set(&ws.timer, ex.store.NowMS())
		}
		return
	}
	if ex.store.NowMS() >= ws.untilMS && !ws.ending {
		ws.ending, ws.cursor = true, ws.first
	}
	if w := ws.cursor; w != nil {
		ws.cursor = w.next
		ex.leftPlaces.looked++
		switch s := ex.attachedFor(w); {
		case w.Granted(): // it has an end of its own
		case ws.denied || ws.lostRight(ex, w):
			ex.refuseQueued(w, attach.Denied)
		case s != nil:
			ex.takeOver(w, s, true)
		case ws.ending:
			ex.refuseQueued(w, attach.Cancelled)
		}
	}
	ws.turn()
	switch {
	case ws.cursor != nil:
		ex.timers.Set(&ws.timer, ex.store.NowMS())
	case ws.count > 0 && !ws.ending:
		ex.timers.Set(&ws.timer, ws.untilMS)
	default:
		ex.leftPlaces.remove(ws)
	}
}

// attachedFor is an attached session that can keep the place of a wait; nil: there is none.
func (ex *executor) attachedFor(w *queuedWait) (found *session) {
	ex.watchdog.attached.Each([]byte(w.Owner()), func(s *session, _ bool) bool {
		if !s.ended() && w.writable(s.user) {
			found = s
		}
		return found == nil
	})
	return found
}

// writable reports whether a user may write to all keys that a wait waits for.
func (w *queuedWait) writable(u *acl.User) bool {
	for pl := w.First(); pl != nil; pl = pl.Sibling() {
		if !u.MayWrite(w.DB(), []byte(pl.Key())) {
			return false
		}
	}
	return true
}

// detachedFrom makes a session give up the places of waits that it did not ask for, if it is no longer
// attached to their owners. With prefixes all its waits are looked at, otherwise those of the names.
func (ex *executor) detachedFrom(s *session, names [][]byte, prefixes bool) {
	if !s.keepsPlaces() || s.queued.adopted == 0 {
		return
	}
	ws := s.queued
	if !prefixes && ex.eachQueuedOf(names, func(w *queuedWait) {
		if w.session == s {
			ws.maybeGiveUp(ex, w)
		}
	}) {
		return
	}
	ws.lookAgain(ex)
	for range dueBudget {
		if !ws.giveUpOne(ex) {
			ex.timers.Remove(&ws.timer)
			return
		}
	}
}

// turn begins anew at the first wait, if that is called for, when all have been looked at.
func (ws *queuedWaits) turn() {
	switch {
	case ws.cursor != nil:
	case ws.again:
		ws.again, ws.cursor = false, ws.first
	default:
		ws.judges = false
	}
}

// judge begins to look whether the user of the session may have the locks still.
func (ws *queuedWaits) judge(ex *executor) {
	ws.judges = true
	ws.lookAgain(ex)
}

// lostRight reports whether the user may not have the locks of a wait any more, if that is asked.
func (ws *queuedWaits) lostRight(ex *executor, w *queuedWait) bool {
	return ws.judges && !w.Granted() && ex.permitQueued(w, w.words.Argv()) != nil
}

// denyWaits makes all waits end that the session keeps the places of, because its user is deleted. They go to
// a session that has ended and is of that user.
func (s *session) denyWaits() {
	if !s.keepsPlaces() {
		return
	}
	g := &session{executor: s.executor, dead: true, terminated: true, id: s.id, user: s.user, db: s.db, info: s.info}
	g.queuedOf().denied = true
	for w := s.queued.first; w != nil; w = s.queued.first {
		s.queued.unlink(w)
		w.session = g
		g.queued.link(w)
	}
	s.executor.leavePlaces(g)
}

// follow carries a change of a user out on the waits of sessions that have ended.
func (l *leftPlaces) follow(ex *executor, change acl.Change) {
	for ws := l.first; ws != nil; ws = ws.newer {
		if ws.first == nil || ws.first.session.user != change.Old {
			continue
		}
		if change.New == nil {
			ws.denied = true
		} else {
			ws.first.session.user, ws.judges = change.New, true
		}
		ws.lookAgain(ex)
	}
}

// giveUpOne looks at the next wait of a session that has detached, and reports whether there are more.
func (ws *queuedWaits) giveUpOne(ex *executor) (more bool) {
	if w := ws.cursor; w != nil {
		ws.cursor = w.next
		ex.leftPlaces.looked++
		ws.maybeGiveUp(ex, w)
	}
	ws.turn()
	if ws.cursor == nil {
		ws.ghost = nil
	}
	return ws.cursor != nil
}

// maybeGiveUp gives up the place of a wait if its session is no longer attached to the owner and did not ask
// for it. It goes to a session that has ended, and keeps the places of such waits alone.
func (ws *queuedWaits) maybeGiveUp(ex *executor, w *queuedWait) {
	s := w.session
	if ws.lostRight(ex, w) {
		ex.refuseQueued(w, attach.Denied)
		return
	}
	if !w.adopted || w.Granted() || ex.watchdog.attached.AttachedBy(s, []byte(w.Owner())) {
		return
	}
	g := ws.ghost
	if until := ex.store.NowMS() + ex.renewEveryMS(); g == nil || !g.queued.kept || g.queued.untilMS != until {
		g = &session{executor: ex, dead: true, terminated: true, id: s.id, user: s.user, db: s.db, info: s.info}
		ws.ghost = g
	}
	ws.unlink(w)
	w.session = g
	g.queuedOf().link(w)
	if g.queued.gone {
		g.queued.lookAgain(ex)
	} else {
		ex.leavePlaces(g)
	}
}
