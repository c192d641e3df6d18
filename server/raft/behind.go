package raft

import (
	"log/slog"
	"time"
)

const (
	// mostBehind is how far a member's clock may be behind the group's time before it says so.
	mostBehind = 5 * time.Second
	// sayEvery is how often it does.
	sayEvery = time.Minute
)

// lookAtClock logs that an entry has a time that is in the future here. Either this machine's clock is
// behind, or the clock of a member that has led is ahead: the group's time never goes back. A clock that is
// ahead on a member that has never led does no harm, and is not reported. Under the host's lock.
func (m *Member) lookAtClock(entryMS int64) {
	behind := time.Duration(entryMS-m.host.NowMS()) * time.Millisecond
	if behind < mostBehind || !m.saidBehind.IsZero() && time.Since(m.saidBehind) < sayEvery {
		return
	}
	m.saidBehind = time.Now()
	m.host.Log().Warn("raft: this machine's clock is behind the group's time: it is wrong, or that of a member that leads or has led is ahead. No lease ends early for "+
		"that, but TIME, and deadlines that are given as a time of day, are as wrong as the clock of the member that leads. Set the clocks of all members (NTP, chrony)",
		slog.Duration("behind", behind))
}
