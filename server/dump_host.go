package server

import (
	"lockserver/commands"
	"lockserver/internal/keyevent"
	"lockserver/server/dump"
	"lockserver/server/gate"
	"lockserver/server/wait"
	"lockserver/store"
)

// This file is dump.Transfer and dump.Client, the whole of both: what DUMP, RESTORE and MIGRATE ask of the
// server.

// dumpHost is the server as DUMP and RESTORE see it.
type dumpHost struct{ executor *executor }

var _ dump.Transfer = dumpHost{}

// dumpHostOf is the host of the server that runs a DUMP.
func dumpHostOf(c *commands.Ctx) dump.Transfer { return dumpHost{sessionOf(c).executor} }

// Compresses implements dump.Transfer.
func (h dumpHost) Compresses() bool { return h.executor.config.RDBCompression }

// Warn implements dump.Transfer.
func (h dumpHost) Warn(text string) {
	if ex := h.executor; ex.dump.MayWarn(ex.Store.NowMS()) {
		ex.Logger.Warn(text)
	}
}

// InCluster implements dump.Transfer.
func (h dumpHost) InCluster() bool { return h.executor.group.IsCluster() }

// State implements dump.Transfer.
func (h dumpHost) State() *dump.State { return &h.executor.dump }

// InGroup implements dump.Transfer.
func (h dumpHost) InGroup() bool { return h.executor.Member != nil }

// Copied implements dump.Transfer.
func (h dumpHost) Copied() *gate.Gate { return &h.executor.Gates.Copied }

// Due implements dump.Transfer.
func (h dumpHost) Due(c *commands.Ctx) int64 {
	if !h.executor.Acks.Needed {
		return 0
	}
	return h.executor.copiesDue(sessionOf(c))
}

// Waiting implements dump.Transfer.
func (h dumpHost) Waiting(c *commands.Ctx) dump.Client {
	s := sessionOf(c)
	return movingClient{s, s.Waiter}
}

// Observe implements dump.Transfer.
func (h dumpHost) Observe() { h.executor.observe() }

// Background implements dump.Transfer.
func (h dumpHost) Background(f func()) { h.executor.host.background(f) }

// Ending implements dump.Transfer.
func (h dumpHost) Ending() <-chan struct{} { return h.executor.host.ending() }

// Do implements dump.Transfer.
func (h dumpHost) Do(f func()) { h.executor.Do(f) }

// AfterPause implements dump.Transfer.
func (h dumpHost) AfterPause(f func()) bool { return h.executor.Pausing.Afterwards(f) }

// MayRemove implements dump.Transfer.
func (h dumpHost) MayRemove() bool {
	return !h.executor.Follows && h.executor.Failed == nil && h.executor.Durable.Broken() == nil
}

// Removed implements dump.Transfer.
func (h dumpHost) Removed(db *store.DB, key []byte) {
	keyEvents{h.executor}.notify(db, keyevent.Generic, "del", key)
}

// movingClient is a client that waits for a MIGRATE.
type movingClient struct {
	session *session
	waiter  *wait.Parked
}

// Act implements dump.Client.
func (m movingClient) Act(f func()) {
	t := &m.session.executor.tracking
	t.Act(m.session)
	f()
	t.Act(nil)
}

// Answer implements dump.Client.
func (m movingClient) Answer(err error) {
	s, ex := m.session, m.session.executor
	m.waiter.Over(err)
	if s.Waiter == nil || s.Waiter != m.waiter {
		return
	}
	select {
	case <-ex.host.ending(): // which may have cut the move off: that is no failure of the other server
		ex.terminate(s)
	default:
		ex.Waits.Answer(m.waiter, func(c *commands.Ctx) error { return dump.Reply(c, err) })
	}
}

// TrustsChecksums implements dump.Transfer.
func (h dumpHost) TrustsChecksums() bool { return h.executor.Durable.Trusts() }
