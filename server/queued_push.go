package server

import (
	"slices"

	"lockserver/internal/waiting"
	"lockserver/server/attach"
)

// The outcomes of waits with NOTIFY. They go to the session that keeps the place, and to those that are
// attached to the owner: as pushes, in version 3 of the protocol, if their users may read all keys. They are
// also published on the owner's channel, for version 2.

// audience appends the sessions that get the outcome.
func (w *queuedWait) audience(to []*session) []*session {
	ex := w.session.executor
	if ex.watchdog.attached.InUse() {
		all, _ := ex.watchdog.attached.All([]byte(w.Owner()))
		to = append(to, all...)
	}
	// plant:audience
	if s := w.session; !w.adopted && !s.ended() && !slices.Contains(to, s) {
		to = append(to, s)
	}
	return to
}

// granted is the outcome of a wait that got its locks.
func (w *queuedWait) granted(g *waiting.Grant) attach.Outcome {
	return attach.Outcome{Owner: w.Owner(), Many: w.lock.Many(), Keys: g.Keys, Tokens: g.Tokens}
}

// tellRefusal informs the audience of a wait that it ended without the locks.
func (ex *executor) tellRefusal(w *queuedWait, why attach.Refusal) {
	o := attach.Outcome{Owner: w.Owner(), Many: w.lock.Many(), Limiter: w.lock.Limiter(), Why: why, Keys: ex.waits.keys[:0]}
	for _, key := range ex.waits.keysOf(&w.parkedCall) {
		o.Keys = append(o.Keys, w.textOf(key))
	}
	ex.tellOutcome(w, o)
	clear(o.Keys)
	ex.waits.keys = o.Keys[:0]
}

func (ex *executor) tellOutcome(w *queuedWait, o attach.Outcome) {
	ex.waits.push = ex.waits.push[:0]
	ex.audience = w.audience(ex.audience[:0])
	for _, s := range ex.audience {
		if s.out.Proto < 3 || !w.readableBy(s, &o) {
			continue
		}
		if len(ex.waits.push) == 0 {
			ex.waits.push = o.AppendPush(ex.waits.push)
		}
		ex.deliver(s, ex.waits.push, true)
	}
	ex.waits.sparePush()
	clear(ex.audience)
	if ex.anyoneListens() {
		channel, payloads := o.Messages()
		for _, p := range payloads {
			ex.publish(channel, p)
		}
	}
}

// readableBy reports whether the user of a session may read all keys of a wait.
func (w *queuedWait) readableBy(s *session, o *attach.Outcome) bool {
	return !slices.ContainsFunc(o.Keys, func(key string) bool { return !s.user.MayRead(w.DB(), []byte(key)) })
}

// tellAttached informs a session, which has just attached to an owner, of a grant that is not confirmed. The
// lock may have been granted when no session was there to hear of it.
func (ex *executor) tellAttached(s *session, db int, key, owner string) {
	for _, g := range ex.grants.Of(db, []byte(key), []byte(owner)) {
		w := g.Waiter.Call().(*queuedWait)
		o := w.granted(g)
		if s.out.Proto >= 3 && g.Keys[0] == key && w.readableBy(s, &o) {
			ex.waits.push = o.AppendPush(ex.waits.push[:0])
			ex.deliver(s, ex.waits.push, true)
		}
	}
}
