package shard

import (
	"math"
	"slices"

	"lockserver/server/wait"
	"lockserver/store/due"
)

// Pausing holds the commands of clients, because of CLIENT PAUSE, a failover or a shutdown. A client with
// a next command that must wait keeps it, with all commands behind it, until the end.
type Pausing struct {
	UntilMS int64 // 0: nothing is paused
	All     bool  // every command waits, and not only those that write
	door    PausingDoor
	reasons [pauseReasons]bool
	held    []*wait.Party
	after   []func() // units that wait for the end
	timer   due.Timer
}

// PausingDoor has the functions of the shard that a pause needs.
type PausingDoor struct {
	Timers *due.Timers
	NowUS  func() int64
	// Begun is called when a pause begins: nothing ends by itself any more. Over is called when it has ended,
	// or goes on for one of the reasons of Hold.
	Begun, Over func()
	Touch       func(p *wait.Party) // wakes the connection of a party
	Later       func(f func())      // runs f as a unit of its own, on another goroutine
}

// PauseReason is a reason for which writes are held for as long as it takes, whatever CLIENT UNPAUSE says.
type PauseReason int

// The reasons.
const (
	ForFailover PauseReason = iota
	ForShutdown
	pauseReasons
)

// Open makes the pause ready.
func (p *Pausing) Open(d PausingDoor) {
	p.door = d
	p.timer.Of = p
}

// On reports whether commands wait.
func (p *Pausing) On() bool { return p.UntilMS != 0 }

// Waiting returns the number of clients that wait for the end.
func (p *Pausing) Waiting() int { return len(p.held) }

// WaitingUnits returns the number of units that wait for the end.
func (p *Pausing) WaitingUnits() int { return len(p.after) }

// Begin holds commands until a time, or longer and more of them if that is in force already; 0: no longer.
func (p *Pausing) Begin(untilMS int64, all bool) {
	if p.UntilMS = max(p.UntilMS, untilMS); p.UntilMS == 0 {
		return
	}
	p.All = p.All || all
	p.door.Begun()
	p.door.Timers.Set(&p.timer, p.UntilMS)
}

// Fire implements due.Firer: the pause is over.
func (p *Pausing) Fire() { p.End() }

// Afterwards runs f as a unit of its own when the pause is over. Without a pause it returns false and does
// nothing.
func (p *Pausing) Afterwards(f func()) bool {
	if p.UntilMS == 0 {
		return false
	}
	p.after = append(p.after, f)
	return true
}

// End ends the pause, except for the reasons of Hold.
func (p *Pausing) End() {
	p.door.Timers.Remove(&p.timer)
	p.UntilMS, p.All = 0, false
	if slices.Contains(p.reasons[:], true) {
		p.UntilMS = math.MaxInt64
	}
	p.door.Over()
	p.TryAgain()
	after := p.after
	p.after = nil
	for _, f := range after { // when the unit that ends the pause is over
		p.door.Later(f)
	}
}

// TryAgain lets the held clients try again. Clients that still must wait are held again.
func (p *Pausing) TryAgain() {
	for _, of := range p.held {
		of.Held = false
		if !of.Dead {
			of.Info.LastUS = p.door.NowUS() // it was not idle
			p.door.Touch(of)
		}
	}
	p.held = nil
}

// Hold holds commands that write for a reason, or no longer for that one.
func (p *Pausing) Hold(reason PauseReason, on bool) {
	if p.reasons[reason] = on; on {
		p.UntilMS = math.MaxInt64
		p.door.Begun()
	} else {
		p.End()
	}
}

// Add makes the next command of a client wait for the end.
func (p *Pausing) Add(of *wait.Party) {
	if !of.Held {
		of.Held = true
		p.held = append(p.held, of)
	}
}

// Resume ends that the next command of a client waits. It does nothing if it does not wait.
func (p *Pausing) Resume(of *wait.Party) {
	if of.Held {
		of.Held = false
		p.held = slices.DeleteFunc(p.held, func(other *wait.Party) bool { return other == of })
	}
}
