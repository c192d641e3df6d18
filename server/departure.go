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
	party *party
	cutMS int64 // when the leases of its locks end at the latest; 0: they end by themselves
	timer due.Timer
}

// depart begins it. It may be called more than once.
func (ws *waits) depart(s *party) {
	if s.departed || !s.keeps() {
		s.departed = true
		return
	}
	s.departed = true
	d := &departure{party: s}
	d.timer.Of = d
	if s.lost.Load() {
		d.cutMS = ws.cutMS(s)
	}
	if d.forget(ws, dueBudget) {
		ws.timers.Set(&d.timer, ws.store.NowMS())
	}
}

// Fire implements due.Firer.
func (d *departure) Fire() {
	ws := d.party.waits
	if d.forget(ws, 1) {
		ws.timers.Set(&d.timer, ws.store.NowMS())
	}
}

// forget ends the renewals of so many leases, and says whether there are more. A lease goes on to be renewed
// if other sessions are attached for its owner.
func (d *departure) forget(ws *waits, most int) (more bool) {
	s, w := d.party, &ws.watchdog
	if d.cutMS != 0 {
		d.cut(ws, most)
	}
	ws.store.Leave(s.keeper, most, func(_ *store.DB, of store.Ref, r renewals.Renewal) bool {
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
func (d *departure) cut(ws *waits, most int) {
	s, w := d.party, &ws.watchdog
	held := make([]store.RenewedKey, 0, min(most, s.keeper.Len()))
	ws.store.EachOf(s.keeper, most, func(db *store.DB, key string, r renewals.Renewal) {
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
			commands.CutLock(ws.store.DB(r.in.db), r.owner, []byte(r.key), r.token, d.cutMS)
		}
	}
}

// forgetAttached makes the table of attached sessions forget what it need not know any more.
func (ws *waits) forgetAttached(most int) {
	if w := &ws.watchdog; w.attached.Forget(most) {
		w.forgetting.Of = forgetting{ws}
		ws.timers.Set(&w.forgetting, ws.store.NowMS())
	}
}

// forgetting is what falls due while there is more to forget.
type forgetting struct{ *waits }

// Fire implements due.Firer.
func (f forgetting) Fire() { f.forgetAttached(1) }

// leftPlaces are the waits of sessions that have ended, as long as places are kept.
type leftPlaces struct {
	waits       *waits // set with the timer
	first, last *queuedWaits
	cursor      *queuedWaits // the next ones to look for sessions anew
	again       bool         // all of them have to then, once more
	timer       due.Timer
	looked      int // how many waits were looked at for a session that attached, detached or ended
}

// leavePlaces begins to look for sessions that keep the places of the waits of one that has ended. It may be
// called more than once.
func (ws *waits) leavePlaces(s *party) {
	if qs := s.queued; qs != nil && !qs.gone && qs.count > 0 {
		// plant:leave-places
		qs.gone, qs.untilMS = true, ws.store.NowMS()+ws.renewEveryMS()
		qs.cursor, qs.again = qs.first, false
		ws.leftPlaces.add(qs)
		ws.timers.Set(&qs.timer, ws.store.NowMS())
	}
}

func (l *leftPlaces) add(qs *queuedWaits) {
	qs.kept, qs.older, qs.newer = true, l.last, nil
	if l.last != nil {
		l.last.newer = qs
	} else {
		l.first = qs
	}
	l.last = qs
}

func (l *leftPlaces) remove(qs *queuedWaits) {
	if !qs.kept {
		return
	}
	if l.cursor == qs {
		l.cursor = qs.newer
	}
	if qs.older != nil {
		qs.older.newer = qs.newer
	} else {
		l.first = qs.newer
	}
	if qs.newer != nil {
		qs.newer.older = qs.older
	} else {
		l.last = qs.older
	}
	qs.kept, qs.older, qs.newer = false, nil, nil
}

// adopt looks anew for sessions that keep the places of waits: s has attached to owners, or to prefixes. The
// waits of an owner are found by its name, and are few. For a prefix all are looked at: as many as a unit may
// now, and the others a few in a slice.
func (l *leftPlaces) adopt(s *party, names [][]byte, prefixes bool) {
	ws := s.waits
	if l.first == nil {
		return
	}
	takeOver := func(w *queuedWait) {
		if of := w.party.queued; of.gone && !of.denied && w.writable(s.user) {
			ws.takeOver(w, s, true)
		}
	}
	if prefixes && !l.eachUnder(names, takeOver) || !prefixes && !ws.eachQueuedOf(names, takeOver) {
		l.lookAgain(ws)
	}
}

// eachUnder visits the waits of owners that begin with one of the prefixes. False: they are too many to be
// looked at in one unit, and not all were visited.
func (l *leftPlaces) eachUnder(prefixes [][]byte, visit func(w *queuedWait)) (all bool) {
	left := dueBudget
	for qs := l.first; qs != nil; qs = qs.newer {
		for w := qs.first; w != nil; {
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
func (l *leftPlaces) prolong(ws *waits) {
	if l.cursor == nil {
		return
	}
	for qs := l.first; qs != nil; qs = qs.newer {
		if !qs.ending {
			qs.untilMS = ws.store.NowMS() + ws.renewEveryMS()
		}
	}
}

// lookAgain makes all of them look for sessions.
func (l *leftPlaces) lookAgain(ws *waits) {
	if l.cursor != nil {
		l.again = true
		return
	}
	l.cursor, l.timer.Of, l.waits = l.first, l, ws
	ws.timers.Set(&l.timer, ws.store.NowMS())
}

// Fire implements due.Firer.
func (l *leftPlaces) Fire() {
	ws := l.waits
	if qs := l.cursor; qs != nil {
		l.cursor = qs.newer
		qs.lookAgain(ws)
	}
	if l.cursor == nil && l.again {
		l.again, l.cursor = false, l.first
	}
	if l.cursor != nil {
		ws.timers.Set(&l.timer, ws.store.NowMS())
	}
}

// eachQueuedOf visits the waits with NOTIFY of owners. False: they are too many for one unit, and not all
// were visited.
func (ws *waits) eachQueuedOf(names [][]byte, visit func(w *queuedWait)) (all bool) {
	left := dueBudget
	for _, name := range names {
		o := ws.queues.Owner(name)
		if o == nil {
			continue
		}
		for w := o.First(); w != nil; w = w.Younger() {
			ws.leftPlaces.looked++
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
func (qs *queuedWaits) lookAgain(ws *waits) {
	switch {
	case qs.ending:
	case qs.cursor != nil:
		qs.again = true
	case qs.first != nil:
		qs.cursor = qs.first
		ws.timers.Set(&qs.timer, ws.store.NowMS())
	}
}

// Fire implements due.Firer. Right after the end of the session its waits go to attached sessions, as many
// as have one. The others wait for one until their time is over, or for their owner to ask again.
func (qs *queuedWaits) Fire() {
	ws := qs.waits
	if !qs.gone {
		if qs.giveUpOne(ws) {
			ws.timers.Set(&qs.timer, ws.store.NowMS())
		}
		return
	}
	if ws.store.NowMS() >= qs.untilMS && !qs.ending {
		qs.ending, qs.cursor = true, qs.first
	}
	if w := qs.cursor; w != nil {
		qs.cursor = w.next
		ws.leftPlaces.looked++
		switch s := ws.attachedFor(w); {
		case w.Granted(): // it has an end of its own
		case qs.denied || qs.lostRight(ws, w):
			ws.refuseQueued(w, attach.Denied)
		case s != nil:
			ws.takeOver(w, s, true)
		case qs.ending:
			ws.refuseQueued(w, attach.Cancelled)
		}
	}
	qs.turn()
	switch {
	case qs.cursor != nil:
		ws.timers.Set(&qs.timer, ws.store.NowMS())
	case qs.count > 0 && !qs.ending:
		ws.timers.Set(&qs.timer, qs.untilMS)
	default:
		ws.leftPlaces.remove(qs)
	}
}

// attachedFor is an attached session that can keep the place of a wait; nil: there is none.
func (ws *waits) attachedFor(w *queuedWait) (found *party) {
	ws.watchdog.attached.Each([]byte(w.Owner()), func(s *party, _ bool) bool {
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
func (ws *waits) detachedFrom(s *party, names [][]byte, prefixes bool) {
	if !s.keepsPlaces() || s.queued.adopted == 0 {
		return
	}
	qs := s.queued
	if !prefixes && ws.eachQueuedOf(names, func(w *queuedWait) {
		if w.party == s {
			qs.maybeGiveUp(ws, w)
		}
	}) {
		return
	}
	qs.lookAgain(ws)
	for range dueBudget {
		if !qs.giveUpOne(ws) {
			ws.timers.Remove(&qs.timer)
			return
		}
	}
}

// turn begins anew at the first wait, if that is called for, when all have been looked at.
func (qs *queuedWaits) turn() {
	switch {
	case qs.cursor != nil:
	case qs.again:
		qs.again, qs.cursor = false, qs.first
	default:
		qs.judges = false
	}
}

// judge begins to look whether the user of the session may have the locks still.
func (qs *queuedWaits) judge(ws *waits) {
	qs.judges = true
	qs.lookAgain(ws)
}

// lostRight reports whether the user may not have the locks of a wait any more, if that is asked.
func (qs *queuedWaits) lostRight(ws *waits, w *queuedWait) bool {
	return qs.judges && !w.Granted() && ws.permitQueued(w, w.words.Argv()) != nil
}

// ghost returns a party that has ended and keeps places in the name of p.
func (p *party) ghost() *party {
	return &party{client: p.client, waits: p.waits, dead: true, terminated: true, id: p.id, user: p.user, db: p.db, info: p.info}
}

// denyWaits makes all waits end that the session keeps the places of, because its user is deleted. They go to
// a session that has ended and is of that user.
func (s *party) denyWaits() {
	if !s.keepsPlaces() {
		return
	}
	g := s.ghost()
	g.queuedOf().denied = true
	for w := s.queued.first; w != nil; w = s.queued.first {
		s.queued.unlink(w)
		w.party = g
		g.queued.link(w)
	}
	s.waits.leavePlaces(g)
}

// follow carries a change of a user out on the waits of sessions that have ended.
func (l *leftPlaces) follow(ws *waits, change acl.Change) {
	for qs := l.first; qs != nil; qs = qs.newer {
		if qs.first == nil || qs.first.party.user != change.Old {
			continue
		}
		if change.New == nil {
			qs.denied = true
		} else {
			qs.first.party.user, qs.judges = change.New, true
		}
		qs.lookAgain(ws)
	}
}

// giveUpOne looks at the next wait of a session that has detached, and reports whether there are more.
func (qs *queuedWaits) giveUpOne(ws *waits) (more bool) {
	if w := qs.cursor; w != nil {
		qs.cursor = w.next
		ws.leftPlaces.looked++
		qs.maybeGiveUp(ws, w)
	}
	qs.turn()
	if qs.cursor == nil {
		qs.ghost = nil
	}
	return qs.cursor != nil
}

// maybeGiveUp gives up the place of a wait if its session is no longer attached to the owner and did not ask
// for it. It goes to a session that has ended, and keeps the places of such waits alone.
func (qs *queuedWaits) maybeGiveUp(ws *waits, w *queuedWait) {
	s := w.party
	if qs.lostRight(ws, w) {
		ws.refuseQueued(w, attach.Denied)
		return
	}
	if !w.adopted || w.Granted() || ws.watchdog.attached.AttachedBy(s, []byte(w.Owner())) {
		return
	}
	g := qs.ghost
	if until := ws.store.NowMS() + ws.renewEveryMS(); g == nil || !g.queued.kept || g.queued.untilMS != until {
		g = s.ghost()
		qs.ghost = g
	}
	qs.unlink(w)
	w.party = g
	g.queuedOf().link(w)
	if g.queued.gone {
		g.queued.lookAgain(ws)
	} else {
		ws.leavePlaces(g)
	}
}
