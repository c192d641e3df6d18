package raft

import (
	"slices"
	"time"
)

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
