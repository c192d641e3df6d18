package raft

import (
	"slices"
	"time"
)

// checking is the state of a member's check.
type checking struct {
	// wantsMark says that the leader makes a mark in the next round. running says that a cut is being
	// digested.
	wantsMark, running bool
	// at is the place of the newest cut. index is the index of its mark in the log, and sum the digest, as
	// soon as each is known.
	at    place
	index uint64
	sum   string
	// cut counts the cuts that were taken.
	cut int64
	// last is the time at which this member last wanted a check as the leader.
	last time.Time
	// undecided is the index at which members had different data, and no majority had the same. It keeps
	// the member from leading until a check finds a majority; 0: the data was never undecided, or a check
	// has found a majority since.
	undecided uint64
	// others says that the data of another member was undecided at its last report. again counts the checks
	// that the leader has made for the sake of that member.
	others bool
	again  int
}

const (
	// againUndecided is the time until the next check if members differ and no majority has the same data.
	againUndecided = 3 * time.Second
	// mostAgain bounds how many times that time is doubled.
	mostAgain = 8
)

// hearOfOthers records whether another member does not know yet if its data is right. Such a member was
// away or busy when a majority was found. A check digests all data, so the time until the next one grows.
func (c *checking) hearOfOthers(all []Check) {
	c.others = slices.ContainsFunc(all, func(c Check) bool { return c.Finding == Undecided })
	if !c.others || c.undecided > 0 {
		c.again = 0
	}
}

// every returns the time between two checks: the configured time, or less while data is undecided.
func (c *checking) every(configured time.Duration) time.Duration {
	soon := againUndecided << min(c.again, mostAgain)
	if c.undecided > 0 || c.others && (configured <= 0 || configured > soon) {
		return soon
	}
	return configured
}
