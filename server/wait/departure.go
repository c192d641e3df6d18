package wait

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

// The work that an ended session leaves: the leases that the server has renewed for it, and the places
// that it has kept for waits with NOTIFY. There may be a hundred thousand of each. So a slice of the leases
// ends at once, and the others one at a time as they are due. Other units run in between. Until then they
// look like renewals, but nothing is renewed for a session that has ended. The places go to attached sessions
// in the same way, and so do those of a session that detaches.

// departure is the rest of that work for the leases of a session.
type departure struct {
	party *Party
	cutMS int64 // when the leases of its locks end at the latest; 0: they end by themselves
	timer due.Timer
}

// Depart begins it. It may be called more than once.
func (ws *Waits) Depart(s *Party) {
	if s.departed || !s.Keeps() {
		s.departed = true
		return
	}
	s.departed = true
	d := &departure{party: s}
	d.timer.Of = d
	if s.Vanished.Load() {
		d.cutMS = ws.cutMS(s)
	}
	if d.forget(ws, DueBudget) {
		ws.Timers.Set(&d.timer, ws.Store.NowMS())
	}
}

// Fire implements due.Firer.
func (d *departure) Fire() {
	ws := d.party.Waits
	if d.forget(ws, 1) {
		ws.Timers.Set(&d.timer, ws.Store.NowMS())
	}
}

// forget ends at most most renewals of leases, and says whether there are more. A lease goes on to be renewed
// if other sessions are attached for its owner.
func (d *departure) forget(ws *Waits, most int) (more bool) {
	s, w := d.party, &ws.Watchdog
	if d.cutMS != 0 {
		d.cut(ws, most)
	}
	ws.Store.Renewals().Leave(s.keeper, most, func(_ *store.DB, of store.Ref, r renewals.Renewal) bool {
		if !w.Attached.InUse() {
			return false
		}
		owner, token := commands.OwnerOf(of)
		// plant:keep-renewal
		return w.pinOf(owner, token) == r.Pin && w.Attached.IsAttached(owner)
	})
	w.shares.forget(s, &w.Attached, most)
	return s.Keeps()
}

// cut makes the leases that forget will look at end at cutMS, except if other sessions are attached for the
// owner.
func (d *departure) cut(ws *Waits, most int) {
	s, w := d.party, &ws.Watchdog
	held := make([]store.RenewedKey, 0, min(most, s.keeper.Len()))
	ws.Store.Renewals().EachOf(s.keeper, most, func(db *store.DB, key string, r renewals.Renewal) {
		held = append(held, store.RenewedKey{DB: db, Key: key, Renewal: r})
	})
	for _, k := range held {
		key := []byte(k.Key)
		l, err := commands.FindLock(k.DB, key)
		if err == nil && l.Holds > 0 && w.pinOf(l.Owner, l.Token) == k.Renewal.Pin && !w.Attached.AttachedByOther(s, l.Owner) {
			commands.CutLock(k.DB, l.Owner, key, l.Token, d.cutMS)
		}
	}
	for r := s.shares; r != nil && most > 0; r, most = r.next, most-1 {
		if !w.Attached.AttachedByOther(s, r.owner) {
			commands.CutLock(ws.Store.DB(r.in.db), r.owner, []byte(r.key), r.token, d.cutMS)
		}
	}
}

// forgetAttached makes the table of attached sessions forget what it need not know any more.
func (ws *Waits) forgetAttached(most int) {
	if w := &ws.Watchdog; w.Attached.Forget(most) {
		w.forgetting.Of = forgetting{ws}
		ws.Timers.Set(&w.forgetting, ws.Store.NowMS())
	}
}

// forgetting is the timer that is set while there is more to forget.
type forgetting struct{ *Waits }

// Fire implements due.Firer.
func (f forgetting) Fire() { f.forgetAttached(1) }

// keptPlaces holds the waits of ended sessions while their places are kept.
type keptPlaces struct {
	waits       *Waits // set with the timer
	First, last *queuedWaits
	cursor      *queuedWaits // the next ones to look for sessions anew
	again       bool         // all of them have to then, once more
	timer       due.Timer
	Looked      int // how many waits were looked at for a session that attached, detached or ended
}

// LeavePlaces begins to look for sessions that keep the places of an ended session's waits. It may be called
// more than once.
func (ws *Waits) LeavePlaces(s *Party) {
	if qs := s.Queued; qs != nil && !qs.gone && qs.Count > 0 {
		// plant:leave-places
		qs.gone, qs.untilMS = true, ws.Store.NowMS()+ws.renewEveryMS()
		qs.cursor, qs.again = qs.First, false
		ws.KeptPlaces.add(qs)
		ws.Timers.Set(&qs.timer, ws.Store.NowMS())
	}
}

func (l *keptPlaces) add(qs *queuedWaits) {
	qs.kept, qs.older, qs.Newer = true, l.last, nil
	if l.last != nil {
		l.last.Newer = qs
	} else {
		l.First = qs
	}
	l.last = qs
}

func (l *keptPlaces) remove(qs *queuedWaits) {
	if !qs.kept {
		return
	}
	if l.cursor == qs {
		l.cursor = qs.Newer
	}
	if qs.older != nil {
		qs.older.Newer = qs.Newer
	} else {
		l.First = qs.Newer
	}
	if qs.Newer != nil {
		qs.Newer.older = qs.older
	} else {
		l.last = qs.older
	}
	qs.kept, qs.older, qs.Newer = false, nil, nil
}

// adopt looks anew for sessions that keep the places of waits: s has attached to owners, or to prefixes. The
// waits of an owner are found by its name, and are few. For a prefix all are looked at: as many as a unit may
// now, and the others a few in a slice.
func (l *keptPlaces) adopt(s *Party, names [][]byte, prefixes bool) {
	ws := s.Waits
	if l.First == nil {
		return
	}
	takeOver := func(w *queuedWait) {
		if of := w.Party.Queued; of.gone && !of.denied && w.writable(s.User) {
			ws.takeOver(w, s, true)
		}
	}
	if prefixes && !l.eachUnder(names, takeOver) || !prefixes && !ws.eachQueuedOf(names, takeOver) {
		l.lookAgain(ws)
	}
}

// eachUnder visits the waits of owners that begin with one of the prefixes. False: they are too many to be
// looked at in one unit, and not all were visited.
func (l *keptPlaces) eachUnder(prefixes [][]byte, visit func(w *queuedWait)) (all bool) {
	left := DueBudget
	for qs := l.First; qs != nil; qs = qs.Newer {
		for w := qs.First; w != nil; {
			if left--; left < 0 {
				return false
			}
			l.Looked++
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
func (l *keptPlaces) prolong(ws *Waits) {
	if l.cursor == nil {
		return
	}
	for qs := l.First; qs != nil; qs = qs.Newer {
		if !qs.ending {
			qs.untilMS = ws.Store.NowMS() + ws.renewEveryMS()
		}
	}
}

// lookAgain makes all of them look for sessions.
func (l *keptPlaces) lookAgain(ws *Waits) {
	if l.cursor != nil {
		l.again = true
		return
	}
	l.cursor, l.timer.Of, l.waits = l.First, l, ws
	ws.Timers.Set(&l.timer, ws.Store.NowMS())
}

// Fire implements due.Firer.
func (l *keptPlaces) Fire() {
	ws := l.waits
	if qs := l.cursor; qs != nil {
		l.cursor = qs.Newer
		qs.lookAgain(ws)
	}
	if l.cursor == nil && l.again {
		l.again, l.cursor = false, l.First
	}
	if l.cursor != nil {
		ws.Timers.Set(&l.timer, ws.Store.NowMS())
	}
}

// eachQueuedOf visits the waits with NOTIFY of owners. False: they are too many for one unit, and not all
// were visited.
func (ws *Waits) eachQueuedOf(names [][]byte, visit func(w *queuedWait)) (all bool) {
	left := DueBudget
	for _, name := range names {
		o := ws.Queues.Owner(name)
		if o == nil {
			continue
		}
		for w := o.First(); w != nil; w = w.Younger() {
			ws.KeptPlaces.Looked++
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
func (qs *queuedWaits) lookAgain(ws *Waits) {
	switch {
	case qs.ending:
	case qs.cursor != nil:
		qs.again = true
	case qs.First != nil:
		qs.cursor = qs.First
		ws.Timers.Set(&qs.timer, ws.Store.NowMS())
	}
}

// Fire implements due.Firer. Right after the end of the session its waits go to attached sessions, as many
// as have one. The others wait for one until their time is over, or for their owner to ask again.
func (qs *queuedWaits) Fire() {
	ws := qs.waits
	if !qs.gone {
		if qs.giveUpOne(ws) {
			ws.Timers.Set(&qs.timer, ws.Store.NowMS())
		}
		return
	}
	if ws.Store.NowMS() >= qs.untilMS && !qs.ending {
		qs.ending, qs.cursor = true, qs.First
	}
	if w := qs.cursor; w != nil {
		qs.cursor = w.next
		ws.KeptPlaces.Looked++
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
		ws.Timers.Set(&qs.timer, ws.Store.NowMS())
	case qs.Count > 0 && !qs.ending:
		ws.Timers.Set(&qs.timer, qs.untilMS)
	default:
		ws.KeptPlaces.remove(qs)
	}
}

// attachedFor returns an attached session that can keep the place of a wait, or nil.
func (ws *Waits) attachedFor(w *queuedWait) (found *Party) {
	ws.Watchdog.Attached.Each([]byte(w.Owner()), func(s *Party, _ bool) bool {
		if !s.Ended() && w.writable(s.User) {
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

// DetachedFrom makes a session give up the places of waits that it did not ask for, if it is no longer
// attached to their owners. With prefixes all its waits are looked at, otherwise those of the names.
func (ws *Waits) DetachedFrom(s *Party, names [][]byte, prefixes bool) {
	if !s.KeepsPlaces() || s.Queued.Adopted == 0 {
		return
	}
	qs := s.Queued
	if !prefixes && ws.eachQueuedOf(names, func(w *queuedWait) {
		if w.Party == s {
			qs.maybeGiveUp(ws, w)
		}
	}) {
		return
	}
	qs.lookAgain(ws)
	for range DueBudget {
		if !qs.giveUpOne(ws) {
			ws.Timers.Remove(&qs.timer)
			return
		}
	}
}

// turn begins anew at the first wait, if that is called for, when all have been looked at.
func (qs *queuedWaits) turn() {
	switch {
	case qs.cursor != nil:
	case qs.again:
		qs.again, qs.cursor = false, qs.First
	default:
		qs.judges = false
	}
}

// Judge begins to look whether the user of the session may have the locks still.
func (qs *queuedWaits) Judge(ws *Waits) {
	qs.judges = true
	qs.lookAgain(ws)
}

// lostRight reports whether the user may not have the locks of a wait any more, if that is asked.
func (qs *queuedWaits) lostRight(ws *Waits, w *queuedWait) bool {
	return qs.judges && !w.Granted() && ws.permitQueued(w, w.Words.Argv()) != nil
}

// endedParty returns an ended party that keeps places in the name of p.
func (p *Party) endedParty() *Party {
	return &Party{Client: p.Client, Waits: p.Waits, Dead: true, Terminated: true, Number: p.Number, User: p.User, DB: p.DB, Info: p.Info}
}

// DenyWaits makes all waits end that the session keeps the places of, because its user is deleted. They go to
// a session that has ended and is of that user.
func (s *Party) DenyWaits() {
	if !s.KeepsPlaces() {
		return
	}
	g := s.endedParty()
	g.queuedOf().denied = true
	for w := s.Queued.First; w != nil; w = s.Queued.First {
		s.Queued.unlink(w)
		w.Party = g
		g.Queued.link(w)
	}
	s.Waits.LeavePlaces(g)
}

// Follow carries a change of a user out on the waits of sessions that have ended.
func (l *keptPlaces) Follow(ws *Waits, change acl.Change) {
	for qs := l.First; qs != nil; qs = qs.Newer {
		if qs.First == nil || qs.First.Party.User != change.Old {
			continue
		}
		if change.New == nil {
			qs.denied = true
		} else {
			qs.First.Party.User, qs.judges = change.New, true
		}
		qs.lookAgain(ws)
	}
}

// giveUpOne looks at the next wait of a session that has detached, and reports whether there are more.
func (qs *queuedWaits) giveUpOne(ws *Waits) (more bool) {
	if w := qs.cursor; w != nil {
		qs.cursor = w.next
		ws.KeptPlaces.Looked++
		qs.maybeGiveUp(ws, w)
	}
	qs.turn()
	if qs.cursor == nil {
		qs.endedParty = nil
	}
	return qs.cursor != nil
}

// maybeGiveUp gives up the place of a wait if its session is no longer attached to the owner and did not ask
// for it. It goes to a session that has ended, and keeps the places of such waits alone.
func (qs *queuedWaits) maybeGiveUp(ws *Waits, w *queuedWait) {
	s := w.Party
	if qs.lostRight(ws, w) {
		ws.refuseQueued(w, attach.Denied)
		return
	}
	if !w.adopted || w.Granted() || ws.Watchdog.Attached.AttachedBy(s, []byte(w.Owner())) {
		return
	}
	g := qs.endedParty
	if until := ws.Store.NowMS() + ws.renewEveryMS(); g == nil || !g.Queued.kept || g.Queued.untilMS != until {
		g = s.endedParty()
		qs.endedParty = g
	}
	qs.unlink(w)
	w.Party = g
	g.queuedOf().link(w)
	if g.Queued.gone {
		g.Queued.lookAgain(ws)
	} else {
		ws.LeavePlaces(g)
	}
}
