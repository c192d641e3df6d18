package wait

import (
	"math"
	"time"

	"lockserver/store/due"
)

// A host can vanish without closing its connections: the power, the cable. They stay open here until the
// server looks. So the server watches the clients that others depend on: those that hold a lock that it
// renews, and those that wait for one. It goes by the last sign of life, which is the last segment that the
// client's system sent; keepalive probes make an idle client give such signs (guardPeer). From that follows:
//
//   - A lock that the server renews ends at most one lease after its holder's last sign of
//     life: it is renewed up to that moment, not up to a lease from now (lifeEndMS). Nothing
//     has to be found out in time for that.
//   - A waiter for a lock that was silent for a lease is closed and leaves the queue.
//   - A grant after a wait is taken back and goes to the next waiter if the client's system does not
//     acknowledge it, and nothing is heard of it for confirmMS. The connection is reset: what is
//     still on its way is not read then.
//
// The last of these can be wrong. If the grant arrived and only its acknowledgement was lost, the client may
// be at work, and learns from the reset that it cannot know. It is the same with every lock that has an
// unreachable holder: the fencing token keeps such a holder's writes out. A client that is slow, and leaves
// what it was sent unread, is not taken for dead: its system acknowledges, or answers that its window is
// full.
//
// A system probes once a second at most. So no client is taken for dead before it was silent for
// leastSilenceMS, even if the lease is shorter. Where the system does not report when it heard of a client
// (in-process, a unix socket, other systems than Linux), the connection lives until it is closed.

const (
	// LeastSilenceMS is long enough for three probes.
	LeastSilenceMS = 4000
	// A grant is sent again after 0.2, 0.6, 1.4 and 3 seconds on a fast connection.
	leastConfirmMS, MostConfirmMS = 1000, 3000
	// looksPerConfirm is how often the server looks at a grant's client in that time.
	looksPerConfirm = 4
	// AsksPerLease limits how often in a lease the server looks for the last sign of a living client,
	// however many locks the client holds.
	AsksPerLease = 30
)

// liveness holds the last sign of life of one client. Only the executor touches it. Each client that waits
// for a lock has one, so it is small: fields that fit into the session are there.
type liveness struct {
	Timer   due.Timer // of the session, as a watched
	AskedMS int64     // the time of the last look
	// SilentMS is the age of the last sign of life at the last look, or notKnown. leaseMS is the lease by
	// which the peer is probed. 32 bits are enough, because lock-watchdog-timeout has a limit.
	SilentMS, leaseMS int32
}

// watched is a client that is looked at when its timer runs out.
type watched Party

// watchedGrant is a grant that the client may not have received.
type watchedGrant struct {
	atMS int64
	// unanswered: at the last look the peer's system had not acknowledged everything. since is the silence
	// at the first such look.
	unanswered bool
	since      time.Duration
}

// notKnown is the value of liveness.SilentMS if the system reports nothing about the client.
const notKnown = math.MinInt32

// known reports whether the system says when it heard of the client.
func (p *liveness) known() bool { return p.SilentMS != notKnown }

// heardMS returns the time of the last sign of life.
func (p *liveness) heardMS() int64 { return p.AskedMS - int64(p.SilentMS) }

// silenceMS returns how long a client may be silent if leases have this length.
func silenceMS(leaseMS int64) int64 { return max(leaseMS, LeastSilenceMS) }

// confirmMS is how long a client may leave a grant unanswered.
func confirmMS(leaseMS int64) int64 { return min(max(leaseMS/3, leastConfirmMS), MostConfirmMS) }

// watchOver begins to look after a client on which others depend from now on.
func (ws *Waits) watchOver(s *Party) {
	p := s.Liveness
	if p == nil {
		p = &liveness{}
		p.Timer.Of = (*watched)(s)
		s.Liveness = p
		p.ask(ws, s, ws.Store.NowMS())
	}
	if p.known() && !p.Timer.Queued() {
		ws.Timers.Set(&p.Timer, ws.Store.NowMS()+ws.Settings.LockWatchdogMS/renewalsPerLease)
	}
}

// watchGrant records that a session was granted what it waited for.
func (ws *Waits) watchGrant(s *Party) {
	p := s.Liveness
	if p == nil || !p.known() { // nil: the wait was for no lock
		return
	}
	if s.unsure == nil {
		s.unsure = new(watchedGrant)
	}
	s.unsure.atMS = ws.Store.NowMS() // whether the one before was answered is still to be known
	at := s.unsure.atMS + confirmMS(ws.Settings.LockWatchdogMS)/looksPerConfirm
	if !p.Timer.Queued() || p.Timer.AtMS() > at {
		ws.Timers.Set(&p.Timer, at)
	}
}

// ask looks up, at now, when something was heard of the session's client.
func (p *liveness) ask(ws *Waits, s *Party, now int64) Silence {
	lease := ws.Settings.LockWatchdogMS
	if int64(p.leaseMS) != lease { // CONFIG SET
		p.leaseMS = int32(lease)
		s.Client.GuardPeer(silenceMS(lease))
	}
	h := s.Client.Heard()
	p.AskedMS, p.SilentMS = now, notKnown
	if h.Known {
		p.SilentMS = int32(min(max(h.Lasts.Milliseconds(), notKnown+1), math.MaxInt32))
	}
	return h
}

// lifeEndMS returns until when the locks of a session's client are renewed at now. That may be later than
// the time of the unit: see catchUp.
func (s *Party) lifeEndMS(ws *Waits, now int64) int64 {
	p, lease := s.Liveness, ws.Settings.LockWatchdogMS
	left := min(lease, max(p.heardMS()+silenceMS(lease)-now, 0)) // the less that is left, the more a new sign matters
	if p.known() && (int64(p.leaseMS) != lease || now-p.AskedMS > left/AsksPerLease || now < p.AskedMS) {
		p.ask(ws, s, now)
	}
	if !p.known() {
		return now + lease
	}
	return min(now+lease, p.heardMS()+silenceMS(lease))
}

// Fire implements due.Firer: it is time to look whether the client lives.
func (of *watched) Fire() {
	s := (*Party)(of)
	ws := s.Waits
	lease, now := ws.Settings.LockWatchdogMS, ws.Store.NowMS()
	waits := s.Waiter != nil && s.Waiter.Strict() || s.KeepsPlaces()
	if s.Dead || s.Terminated || !waits && !s.Keeps() && s.Attachments.Len() == 0 && s.unsure == nil {
		return // no other client depends on it
	}
	p := s.Liveness
	h := p.ask(ws, s, now)
	if !h.Known {
		return
	}
	next := lease / renewalsPerLease
	if s.unsure != nil {
		confirm := confirmMS(lease)
		switch since := s.unsure.unansweredFor(h); {
		case since.Milliseconds() >= confirm*(looksPerConfirm-1)/looksPerConfirm: // the first look came a part later
			ws.Lose(s)
			return
		case !s.unsure.unanswered && now-s.unsure.atMS >= confirm:
			s.unsure = nil
		default:
			next = min(next, confirm/looksPerConfirm)
		}
	}
	left := silenceMS(lease) - h.Lasts.Milliseconds()
	if left <= 0 {
		ws.Lose(s)
		return
	}
	ws.Timers.Set(&p.Timer, now+max(min(next, left), LeastCheckMS))
}

// unansweredFor returns for how long something has been unanswered, as far as looks have seen, and
// nothing was heard. It is reckoned by the silences: a connection goes by the machine's time,
// whatever the clock of the leases is.
func (g *watchedGrant) unansweredFor(h Silence) time.Duration {
	if !h.Unanswered {
		g.unanswered = false
		return 0
	}
	if !g.unanswered || h.Lasts < g.since {
		g.unanswered, g.since = true, h.Lasts
	}
	return h.Lasts - g.since
}

// Lose ends a session with a client that is taken for dead. Its locks end one lease after the last sign of
// life. That includes locks that it got later, by a command that it had sent before.
func (ws *Waits) Lose(s *Party) {
	ws.Logger.Info("a client that holds or waits for a lock is silent, and closed", "id", s.Number, "address", s.Info.Addr,
		"silent-ms", ws.Store.NowMS()-s.Liveness.heardMS())
	s.Vanished.Store(true)
	ws.Server.Terminate(s)
}

// cutMS is when the leases of such a session end.
func (ws *Waits) cutMS(s *Party) int64 {
	return max(ws.Store.NowMS(), s.Liveness.heardMS()+silenceMS(ws.Settings.LockWatchdogMS))
}

// renewEveryMS is the time from one renewal of a lease to the next.
func (ws *Waits) renewEveryMS() int64 { return ws.Settings.LockWatchdogMS / renewalsPerLease }
