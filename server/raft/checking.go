package raft

import (
	"slices"
	"time"
)

// checking is where a member is with its check.
type checking struct {
	// wantsMark: the leader is to make a mark in the next round. running: a cut is being digested.
	wantsMark, running bool
	// at is the place of the newest cut, index that of its mark in the log, and sum its digest, when they are
	// known.
	at    place
	index uint64
	sum   string
	// cut counts the cuts that were taken.
	cut int64
	// last is when this member, as the leader, wanted a check last.
	last time.Time
	// undecided is the index at which members had different data, and none of it was that of a majority. It
	// keeps the member from leading until a check finds a majority; 0: there is none.
	undecided uint64
	// others: the data of another member was undecided when this one heard of it last. again counts the
	// checks that the leader has made for its sake.
	others bool
	again  int
}

const (
	// againUndecided is how soon the leader checks again if members differ and no majority has the same data.
	againUndecided = 3 * time.Second
	// mostAgain is how often this time is doubled.
	mostAgain = 8
)

// hearOfOthers records whether a member has yet to learn if its data is right: it was away, or busy, when a
// majority was found. A check costs the time to digest all data, so each one is later than the last.
func (c *checking) hearOfOthers(all []Check) {
	c.others = slices.ContainsFunc(all, func(c Check) bool { return c.Finding == Undecided })
	if !c.others || c.undecided > 0 {
		c.again = 0
	}
}

// every is the time between two checks: what is configured, or less while data is undecided.
func (c *checking) every(configured time.Duration) time.Duration {
	soon := againUndecided << min(c.again, mostAgain)
	if c.undecided > 0 || c.others && (configured <= 0 || configured > soon) {
		return soon
	}
	return configured
}
