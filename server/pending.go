package server

import (
	"lockserver/server/gate"
)

// Pending output and group commit. Under appendfsync always a reply may not leave before the log is on disk
// up to the position at which the reply was made; that holds for reads as well, for they may show what
// another client has just written. The loop does not wait for the disk: it lays such output aside (pending)
// and goes on. When the log's writer has synced, it opens the gate up to the new position, which has the
// owners of the sessions that wait there called.
//
// Under the other policies a reply may not leave before the system has the log up to that position, so that a
// process that is killed takes nothing along that somebody was told. That needs no waiting: whoever sends
// writes before (MayLeave), once for all that the round of an event loop has held back.

// pending is a session's output that waits for the log. It belongs to the session's owner.
type pending struct {
	out   []byte
	from  int            // out[:from] has been sent
	marks []pendingPiece // what of it may leave when, in order; empty: nothing is pending
	place gate.Place
}

// pendingPiece is a piece of output and its condition.
type pendingPiece struct {
	end      int // in pending.out
	position int64
	granted  *waiter // whose grant it is, if it can be taken back
}

// mostSparePending is the room for such output that a session keeps.
const mostSparePending = 64 << 10

// bytes is how much output is laid aside.
func (o *pending) bytes() int { return len(o.out) - o.from }

// layAside keeps output until the log is safe up to a position, behind what is pending
// already. Only the owner calls it.
func (o *pending) layAside(out []byte, granted *waiter, position int64) {
	if last := len(o.marks) - 1; last >= 0 {
		position = max(position, o.marks[last].position)
	}
	o.out = append(o.out, out...)
	o.marks = append(o.marks, pendingPiece{len(o.out), position, granted})
}

// drop forgets all that is pending, and returns the grants that were in it.
func (o *pending) drop() []grant {
	var grants []grant
	for _, m := range o.marks {
		if m.granted != nil {
			grants = append(grants, grant{waiter: m.granted})
		}
	}
	o.marks, o.out, o.from = nil, nil, 0
	return grants
}

// grant is an answer that can be taken back.
type grant struct {
	waiter *waiter
	end    int64 // what session.sent was when the answer had been sent
}
