package raft

import (
	"log/slog"
	"time"
)

const (
	// mostBehind is how far clocks may be apart before a member says so.
	mostBehind = 5 * time.Second
	// sayEvery is how often a member says that its clock is behind, and sayAheadEvery that the group's time
	// is ahead of clocks that are right.
	sayEvery      = time.Minute
	sayAheadEvery = time.Hour
	// timeComesBack is by which part of the time that passes the group's time comes back to the clocks.
	timeComesBack = 2000
)

// wrongClock is what a clock that is wrong does.
const wrongClock = "No lease ends early for that, but TIME, and deadlines that are given as a time of day, are as wrong as the clock of the member that leads. "

// lookAtClocks logs that this machine's clock is behind that of the leader. If they agree, it logs that the
// group's time is ahead of both. A member with a clock that was ahead has led then, and the group's time
// never goes back. A clock that is ahead on a member that follows does no harm, and is not logged. Under the
// host's lock.
func (m *Member) lookAtClocks() {
	if behind := -time.Duration(m.distance.skewMS) * time.Millisecond; behind >= mostBehind {
		if m.say(sayEvery) {
			m.host.Log().Warn("raft: this machine's clock is behind that of the member that leads: one of the two is wrong. "+wrongClock+"Set the clocks of all members (NTP, chrony)",
				slog.Duration("behind", behind))
		}
		return
	}
	m.sayAhead()
}

// sayAhead logs that the group's time is ahead of the clocks. Under the host's lock.
func (m *Member) sayAhead() {
	if ahead := m.timeAhead(); ahead >= mostBehind && m.say(sayAheadEvery) {
		m.host.Log().Warn("raft: the group's time is ahead of the clock of the member that leads: the clock of a member that led before was ahead. No lease ends early for that, "+
			"but TIME is ahead, and deadlines that are given as a time of day come early by as much. If the clocks are right now, nothing has to be done: the group's time comes back to them",
			slog.Duration("ahead", ahead), slog.Duration("for-about", (ahead*timeComesBack).Round(time.Minute)))
	}
}

// timeAhead is how far the group's time is ahead of the clock of the machine that leads, as far as this
// member knows. Under the host's lock.
func (m *Member) timeAhead() time.Duration {
	ahead := m.distance.aheadMS
	if m.state == leading {
		ahead = m.host.NowMS() - m.host.MachineMS()
	}
	return time.Duration(ahead) * time.Millisecond
}

// lookAtEntry logs that an entry has a time that is in the future here, if the leader does not say what its
// clock shows. Under the host's lock.
func (m *Member) lookAtEntry(entryMS int64) {
	d := &m.distance
	if d.failed == nil && !d.heard.IsZero() || time.Since(d.since) < mostBehind {
		return
	}
	behind := time.Duration(entryMS-m.host.MachineMS()) * time.Millisecond
	if behind >= mostBehind && m.say(sayEvery) {
		m.host.Log().Warn("raft: this machine's clock is behind the group's time: it is wrong, or that of a member that leads or has led is ahead. "+wrongClock+
			"Set the clocks of all members (NTP, chrony)", slog.Duration("behind", behind))
	}
}

// say reports whether something about clocks is to be logged now, which is done this often.
func (m *Member) say(every time.Duration) bool {
	if !m.saidClock.IsZero() && time.Since(m.saidClock) < every {
		return false
	}
	m.saidClock = time.Now()
	return true
}
