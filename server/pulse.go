package server

import (
	"math"
	"time"

	"lockserver/server/transport"
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
	// leastSilenceMS is long enough for three probes.
	leastSilenceMS = 4000
	// A grant is sent again after 0.2, 0.6, 1.4 and 3 seconds on a fast connection.
	leastConfirmMS, mostConfirmMS = 1000, 3000
	// looksPerConfirm is how often the server looks at a grant's client in that time.
	looksPerConfirm = 4
	// A living client's last sign is not looked up more often than so many times a lease,
	// however many locks it holds.
	asksPerLease = 30
)

// pulse watches over one session's client. It is only touched under the executor. Each who waits has one, so
// it is kept small: what can stand in the session does.
type pulse struct {
	timer   due.Timer // of the session, as a watched
	askedMS int64     // when the last sign of life was looked up
	// silentMS is how long before that it was, or notKnown; leaseMS by which the peer is probed. Both fit:
	// a lease is at most of so many milliseconds (lock-watchdog-timeout).
	silentMS, leaseMS int32
}

// watched is a session that is looked at when its timer runs out.
type watched party

// watchedGrant is a grant that the client may not have received.
type watchedGrant struct {
	atMS int64
	// unanswered: the last look found something that the peer's system had not acknowledged; the first one
	// that did found a silence of since.
	unanswered bool
	since      time.Duration
}

// notKnown is pulse.silentMS of a client that the system reports nothing about.
const notKnown = math.MinInt32

// known reports whether the system tells when it heard of the client.
func (p *pulse) known() bool { return p.silentMS != notKnown }

// heardMS is the last sign of life.
func (p *pulse) heardMS() int64 { return p.askedMS - int64(p.silentMS) }

// silenceMS is how long a client may be silent, with a lease of so long.
func silenceMS(leaseMS int64) int64 { return max(leaseMS, leastSilenceMS) }

// confirmMS is how long a client may leave a grant unanswered.
func confirmMS(leaseMS int64) int64 { return min(max(leaseMS/3, leastConfirmMS), mostConfirmMS) }

// watchOver begins to look after a session's client, on which others depend from now on.
func (ws *waits) watchOver(s *party) {
	p := s.pulse
	if p == nil {
		p = &pulse{}
		p.timer.Of = (*watched)(s)
		s.pulse = p
		p.ask(ws, s, ws.store.NowMS())
	}
	if p.known() && !p.timer.Queued() {
		ws.timers.Set(&p.timer, ws.store.NowMS()+ws.settings.LockWatchdogMS/renewalsPerLease)
	}
}

// watchGrant records that a session was granted what it waited for.
func (ws *waits) watchGrant(s *party) {
	p := s.pulse
	if p == nil || !p.known() { // nil: the wait was for no lock
		return
	}
	if s.unsure == nil {
		s.unsure = new(watchedGrant)
	}
	s.unsure.atMS = ws.store.NowMS() // whether the one before was answered is still to be known
	at := s.unsure.atMS + confirmMS(ws.settings.LockWatchdogMS)/looksPerConfirm
	if !p.timer.Queued() || p.timer.AtMS() > at {
		ws.timers.Set(&p.timer, at)
	}
}

// ask looks up, at now, when something was heard of the session's client.
func (p *pulse) ask(ws *waits, s *party, now int64) transport.Silence {
	lease := ws.settings.LockWatchdogMS
	if int64(p.leaseMS) != lease { // CONFIG SET
		p.leaseMS = int32(lease)
		s.client.GuardPeer(silenceMS(lease))
	}
	h := s.client.Heard()
	p.askedMS, p.silentMS = now, notKnown
	if h.Known {
		p.silentMS = int32(min(max(h.Lasts.Milliseconds(), notKnown+1), math.MaxInt32))
	}
	return h
}

// lifeEndMS returns until when the locks of a session's client are renewed at now. That may be later than
// the time of the unit: see catchUp.
func (s *party) lifeEndMS(ws *waits, now int64) int64 {
	p, lease := s.pulse, ws.settings.LockWatchdogMS
	left := min(lease, max(p.heardMS()+silenceMS(lease)-now, 0)) // the less that is left, the more a new sign matters
	if p.known() && (int64(p.leaseMS) != lease || now-p.askedMS > left/asksPerLease || now < p.askedMS) {
		p.ask(ws, s, now)
	}
	if !p.known() {
		return now + lease
	}
	return min(now+lease, p.heardMS()+silenceMS(lease))
}

// Fire implements due.Firer: it is time to look whether the client lives.
func (of *watched) Fire() {
	s := (*party)(of)
	ws := s.waits
	lease, now := ws.settings.LockWatchdogMS, ws.store.NowMS()
	waits := s.waiter != nil && s.waiter.Strict() || s.keepsPlaces()
	if s.dead || s.terminated || !waits && !s.keeps() && s.attachments.Len() == 0 && s.unsure == nil {
		return // no other client depends on it
	}
	p := s.pulse
	h := p.ask(ws, s, now)
	if !h.Known {
		return
	}
	next := lease / renewalsPerLease
	if s.unsure != nil {
		confirm := confirmMS(lease)
		switch since := s.unsure.unansweredFor(h); {
		case since.Milliseconds() >= confirm*(looksPerConfirm-1)/looksPerConfirm: // the first look came a part later
			ws.lose(s)
			return
		case !s.unsure.unanswered && now-s.unsure.atMS >= confirm:
			s.unsure = nil
		default:
			next = min(next, confirm/looksPerConfirm)
		}
	}
	left := silenceMS(lease) - h.Lasts.Milliseconds()
	if left <= 0 {
		ws.lose(s)
		return
	}
	ws.timers.Set(&p.timer, now+max(min(next, left), leastPulseMS))
}

// unansweredFor returns for how long something has been unanswered, as far as looks have seen, and
// nothing was heard. It is reckoned by the silences: a connection goes by the machine's time,
// whatever the clock of the leases is.
func (g *watchedGrant) unansweredFor(h transport.Silence) time.Duration {
	if !h.Unanswered {
		g.unanswered = false
		return 0
	}
	if !g.unanswered || h.Lasts < g.since {
		g.unanswered, g.since = true, h.Lasts
	}
	return h.Lasts - g.since
}

// lose ends a session with a client that is taken for dead. Its locks end one lease after the last sign of
// life. That includes locks that it got later, by a command that it had sent before.
func (ws *waits) lose(s *party) {
	ws.log.Info("a client that holds or waits for a lock is silent, and closed", "id", s.id, "address", s.info.addr,
		"silent-ms", ws.store.NowMS()-s.pulse.heardMS())
	s.lost.Store(true)
	ws.hub.Terminate(s)
}

// cutMS is when the leases of such a session end.
func (ws *waits) cutMS(s *party) int64 {
	return max(ws.store.NowMS(), s.pulse.heardMS()+silenceMS(ws.settings.LockWatchdogMS))
}

// renewEveryMS is the time from one renewal of a lease to the next.
func (ws *waits) renewEveryMS() int64 { return ws.settings.LockWatchdogMS / renewalsPerLease }
