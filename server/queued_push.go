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
func (w *queuedWait) audience(to []*party) []*party {
	ws := w.party.waits
	if ws.watchdog.attached.InUse() {
		all, _ := ws.watchdog.attached.All([]byte(w.Owner()))
		to = append(to, all...)
	}
	// plant:audience
	if s := w.party; !w.adopted && !s.ended() && !slices.Contains(to, s) {
		to = append(to, s)
	}
	return to
}

// granted is the outcome of a wait that got its locks.
func (w *queuedWait) granted(g *waiting.Grant) attach.Outcome {
	return attach.Outcome{Owner: w.Owner(), Many: w.lock.Many(), Keys: g.Keys, Tokens: g.Tokens}
}

// tellRefusal informs the audience of a wait that it ended without the locks.
func (ws *waits) tellRefusal(w *queuedWait, why attach.Refusal) {
	o := attach.Outcome{Owner: w.Owner(), Many: w.lock.Many(), Limiter: w.lock.Limiter(), Why: why, Keys: ws.keys[:0]}
	for _, key := range ws.keysOf(&w.parkedCall) {
		o.Keys = append(o.Keys, w.textOf(key))
	}
	ws.tellOutcome(w, o)
	clear(o.Keys)
	ws.keys = o.Keys[:0]
}

func (ws *waits) tellOutcome(w *queuedWait, o attach.Outcome) {
	ws.push = ws.push[:0]
	ws.audience = w.audience(ws.audience[:0])
	for _, s := range ws.audience {
		if s.out.Proto < 3 || !w.readableBy(s, &o) {
			continue
		}
		if len(ws.push) == 0 {
			ws.push = o.AppendPush(ws.push)
		}
		s.client.Deliver(ws.push)
	}
	ws.sparePush()
	clear(ws.audience)
	if ws.hub.AnyoneListens() {
		channel, payloads := o.Messages()
		for _, p := range payloads {
			ws.hub.Publish(channel, p)
		}
	}
}

// readableBy reports whether the user of a session may read all keys of a wait.
func (w *queuedWait) readableBy(s *party, o *attach.Outcome) bool {
	return !slices.ContainsFunc(o.Keys, func(key string) bool { return !s.user.MayRead(w.DB(), []byte(key)) })
}

// tellAttached informs a session, which has just attached to an owner, of a grant that is not confirmed. The
// lock may have been granted when no session was there to hear of it.
func (ws *waits) tellAttached(s *party, db int, key, owner string) {
	for _, g := range ws.grants.Of(db, []byte(key), []byte(owner)) {
		w := g.Waiter.Call().(*queuedWait)
		o := w.granted(g)
		if s.out.Proto >= 3 && g.Keys[0] == key && w.readableBy(s, &o) {
			ws.push = o.AppendPush(ws.push[:0])
			s.client.Deliver(ws.push)
		}
	}
}
