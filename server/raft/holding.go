package raft

import (
	"time"

	"lockserver/commands"
)

// Hold holds all clients of a leader, since nothing may happen beside a step of a move. It returns the number
// of the hold. Then all effects are committed, and none follow until EndHold, or until this member gives way.
// A hold for freeze ends with thaw and cancel, too. After an error no client is held by this call. Without
// the lock.
func (m *Member) Hold(kind HoldKind) (number uint64, err error) {
	m.host.Slice(func() {
		switch {
		case m.state != leading:
			err = m.errNotHere()
		case m.holding || m.snapping:
			err = errHeld
		default:
			number = m.hold(kind)
			m.EndSlice()
		}
		m.host.EndUnit()
	})
	if err != nil {
		return 0, err
	}
	m.awaitCommitted()
	m.host.Slice(func() {
		m.host.HandOn()
		if !m.Holds(number) || !m.allCommitted() {
			err = errNotHolden
			m.endHold(number)
		}
		m.host.EndUnit()
	})
	return number, err
}

// EndHold lets the clients go on that a hold holds. It does nothing if that has ended. Without the lock.
func (m *Member) EndHold(number uint64) {
	m.host.Slice(func() {
		m.endHold(number)
		m.host.EndUnit()
	})
}

// Reign names the time for which this member leads without a break; empty: it does not lead. Under the lock.
func (m *Member) Reign() string {
	if m.state != leading || m.unseen {
		return ""
	}
	return m.id
}

// AwaitShown waits until clients are redirected by slots of a generation, or a newer one. It returns false if
// that takes too long. Without the lock.
func (m *Member) AwaitShown(generation int64) (shown bool) {
	m.awaitFor(mostHandedOn, func() bool {
		shown = m.shown >= generation
		return shown
	})
	return shown
}

// AwaitMoves waits until something about moves or about the lead may have changed, at most for a time.
// Without the lock.
func (m *Member) AwaitMoves(limit time.Duration, is func() bool) { m.awaitFor(limit, is) }

// AwaitCommitted waits until all effects of a reign are committed. It returns false if that takes too long,
// or if the reign is over. Without the lock.
func (m *Member) AwaitCommitted(reign string) (is bool) {
	m.host.Slice(func() {
		m.host.HandOn()
		m.host.EndUnit()
	})
	m.awaitCommitted()
	m.host.Locked(func() { is = m.state == leading && m.id == reign && m.allCommitted() })
	return is
}

// SetMover sets the driver of moves. Call it before Start.
func (m *Member) SetMover(mover Mover) { m.mover = mover }

// receiveMove is RAFT MOVE: a message about a move from a member of another shard.
func (m *Member) receiveMove(message []byte) (Reply, error) {
	if m.mover == nil {
		return nil, commands.Error("ERR this group is not one of several shards")
	}
	answer, err := m.mover.Receive(message)
	if err != nil {
		return nil, asReply(err)
	}
	return func(c *commands.Ctx) { c.Out.Bulk(answer) }, nil
}
