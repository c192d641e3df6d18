package shard

import "lockserver/server/gate"

// Acks is the directive min-replicas-ack: output that tells of data leaves when enough replicas have
// acknowledged all that was written before it. It waits at a gate of its own. The positions of that gate are
// those of the history, with a base added, so that they only rise.
type Acks struct {
	Needed bool // replies about data wait for replicas, or for a raft group
	door   AcksDoor
	base   int64
}

// AcksDoor has the parts of the shard that the acknowledgements need.
type AcksDoor struct {
	Gate   *gate.Gate
	Offset func() int64 // the end of the history
	// Acked returns the end of the part of the history that enough replicas have acknowledged; all: replies
	// need no acknowledgements.
	Acked func() (offset int64, all bool)
	// Apart: replies wait for no replicas here, because a raft group counts the positions of the gate.
	Apart func() bool
}

// Open makes the acknowledgements ready.
func (a *Acks) Open(d AcksDoor) { a.door = d }

// Due returns the position that the output of a slice waits for; 0: it does not wait.
func (a *Acks) Due() int64 {
	position := a.end()
	if position <= a.door.Gate.Safe() {
		return 0
	}
	return position
}

// end is the position of all that has been written.
func (a *Acks) end() int64 { return a.base + a.door.Offset() }

// Release lets output leave that enough replicas have acknowledged.
func (a *Acks) Release() {
	if a.door.Apart() {
		return
	}
	if at, all := a.door.Acked(); !all {
		a.door.Gate.Open(a.base + at)
	} else if a.door.Gate.Waiting() > 0 {
		a.door.Gate.Open(a.end())
	}
}

// Lose closes the clients that wait for replicas: their replies tell of data that may be lost with the writes
// of this server alone.
func (a *Acks) Lose() {
	if !a.door.Apart() && a.door.Gate.Waiting() > 0 {
		a.door.Gate.Lose(a.end())
	}
}

// Raise makes positions go on above those that have been.
func (a *Acks) Raise() {
	if a.door.Apart() {
		return
	}
	if below := a.door.Gate.End() + 1 - a.end(); below > 0 {
		a.base += below
	}
}
