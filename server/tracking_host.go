package server

import (
	"lockserver/commands"
	"lockserver/server/tracking"
	"lockserver/store/due"
)

// CLIENT TRACKING: the clients that track, and tracking.Caller, the whole of it. Package tracking has the
// table of what they have read, and the messages.

// trackers are the clients that track (CLIENT TRACKING). It is only touched under the executor.
type trackers struct {
	tracking.News[*session]
	sweep due.Timer
}

// open connects the trackers with the server.
func (t *trackers) open(ex *executor) {
	t.sweep.Of = t
	t.News.Open(tracking.Door[*session]{
		ID:      func(s *session) int64 { return s.Number },
		Client:  func(id int64) (s *session, ok bool) { s, ok = ex.clients[id]; return s, ok },
		Tracker: func(s *session) *tracker { return s.tracker },
		Version: func(s *session) int { return s.Out.Proto },
		Listens: func(s *session) bool { return s.subs != nil },
		Deliver: func(to *session, message []byte) { ex.deliver(to, message, false) }, Chance: func(n int) int { return ex.Rand.IntN(n) }, Commands: ex.Table,
		Later:     func() bool { return len(ex.monitors) > 0 }, // they get the command first
		SweepSoon: func() { ex.Timers.Set(&t.sweep, ex.Store.NowMS()+1) },
	})
}

// Fire implements due.Firer.
func (t *trackers) Fire() { t.SweepSome() }

// leave ends for good that a session tracks: it goes, and what it has read is forgotten.
func (t *trackers) leave(s *session) {
	if !t.InUse() {
		return
	}
	trackingCaller{s}.Stop()
	t.LeaveFor(s)
	if !t.InUse() {
		s.executor.Timers.Remove(&t.sweep)
		s.executor.observe()
	}
}

// trackingCaller is the session as the commands about tracking see it.
type trackingCaller struct{ session *session }

var _ tracking.Caller[*session] = trackingCaller{}

// trackingCallerOf is the session that runs the command.
func trackingCallerOf(c *commands.Ctx) tracking.Caller[*session] { return trackingCaller{sessionOf(c)} }

// Tracker implements tracking.Caller.
func (t trackingCaller) Tracker() *tracker { return t.session.tracker }

// Start implements tracking.Caller.
func (t trackingCaller) Start() *tracker {
	if s := t.session; s.tracker == nil {
		s.tracker = s.executor.tracking.Start(s)
		s.executor.observe()
	}
	return t.session.tracker
}

// Stop implements tracking.Caller.
func (t trackingCaller) Stop() {
	if s := t.session; s.tracker != nil {
		s.executor.tracking.Stop(s.tracker)
		s.tracker = nil
	}
}

// News implements tracking.Caller.
func (t trackingCaller) News() *tracking.News[*session] { return &t.session.executor.tracking.News }

// HasClient implements tracking.Caller.
func (t trackingCaller) HasClient(id int64) bool { return t.session.executor.clients[id] != nil }

// endTracking sends what was gathered in a slice. A client that gets too much of it is closed, which may
// change more keys.
func (ex *executor) endTracking() {
	for {
		ex.tracking.Broadcast()
		if len(ex.Terminated) == 0 {
			return
		}
		ex.EndUnit()
	}
}
