package raft

import (
	"log/slog"
	"time"
)

const (
	// mostBehind is the difference between two clocks from which a member logs a warning.
	mostBehind = 5 * time.Second
	// sayEvery is the time between two warnings that this clock is behind, and sayAheadEvery between two
	// that the group's time is ahead of correct clocks.
	sayEvery      = time.Minute
	sayAheadEvery = time.Hour
	// timeComesBack is the part of the elapsed time by which the group's time returns to the clocks: one
	// part in 2,000.
	timeComesBack = 2000
)

// wrongClock says what a wrong clock leads to.
const wrongClock = "No lease ends early for that, but TIME, and deadlines that are given as a time of day, are as wrong as the clock of the member that leads. "

// lookAtClocks logs that this machine's clock is behind that of the leader. If they agree, it logs that the
// group's time is ahead of both. A member with a clock that was ahead has led then, and the group's time
// never goes back. A clock that is ahead on a member that follows does no harm, and is not logged. Under the
// host's lock.
func (l *lagging) lookAtClocks() {
	if behind := -time.Duration(l.distance.skewMS) * time.Millisecond; behind >= mostBehind {
		if l.say(sayEvery) {
			l.m.host.Log().Warn("raft: this machine's clock is behind that of the member that leads: one of the two is wrong. "+wrongClock+"Set the clocks of all members (NTP, chrony)",
				slog.Duration("behind", behind))
		}
		return
	}
	l.sayAhead()
}

// sayAhead logs that the group's time is ahead of the clocks. Under the host's lock.
func (l *lagging) sayAhead() {
	if ahead := l.timeAhead(); ahead >= mostBehind && l.say(sayAheadEvery) {
		l.m.host.Log().Warn("raft: the group's time is ahead of the clock of the member that leads: the clock of a member that led before was ahead. No lease ends early for that, "+
			"but TIME is ahead, and deadlines that are given as a time of day come early by as much. If the clocks are right now, nothing has to be done: the group's time comes back to them",
			slog.Duration("ahead", ahead), slog.Duration("for-about", (ahead*timeComesBack).Round(time.Minute)))
	}
}

// timeAhead is how far the group's time is ahead of the clock of the machine that leads, as far as this
// member knows. Under the host's lock.
func (l *lagging) timeAhead() time.Duration {
	ahead := l.distance.aheadMS
	if l.m.state == leading {
		ahead = l.m.host.NowMS() - l.m.host.MachineMS()
	}
	return time.Duration(ahead) * time.Millisecond
}

// lookAtEntry logs that the time of an entry is in the future of this machine. It does so only while the
// leader does not report its clock.
func (l *lagging) lookAtEntry(entryMS int64) {
	d := &l.distance
	if d.failed == nil && !d.heard.IsZero() || time.Since(d.since) < mostBehind {
		return
	}
	behind := time.Duration(entryMS-l.m.host.MachineMS()) * time.Millisecond
	if behind >= mostBehind && l.say(sayEvery) {
		l.m.host.Log().Warn("raft: this machine's clock is behind the group's time: it is wrong, or that of a member that leads or has led is ahead. "+wrongClock+
			"Set the clocks of all members (NTP, chrony)", slog.Duration("behind", behind))
	}
}

// say reports whether it is time for another warning about clocks.
func (l *lagging) say(every time.Duration) bool {
	if !l.saidClock.IsZero() && time.Since(l.saidClock) < every {
		return false
	}
	l.saidClock = time.Now()
	return true
}
