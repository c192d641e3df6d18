package server

import (
	"lockserver/commands"
	"lockserver/server/acl"
	"lockserver/server/wait"
	"lockserver/store"
)

// This file is shard and connection, the whole of both: what waits ask of the server, and of a connection.

// waitHost is the executor as waits see it.
type waitHost struct{ *executor }

var _ wait.Shard = waitHost{}

// Prepare implements shard.
func (h waitHost) Prepare(c *commands.Ctx, p *wait.Party, row *commands.Row, argv [][]byte) {
	// plant:waiter-prepared
	h.prepare(c, p, row, argv)
}

// Panicked implements shard.
func (h waitHost) Panicked(row *commands.Row, p any) error { return h.panicked(row, p) }

// Running implements shard.
func (h waitHost) Running() *wait.Party {
	if p, ok := h.ctx.Session.(*wait.Party); ok && p != nil && p.Client != nil {
		return p
	}
	return nil
}

// ActNoMore implements shard.
func (h waitHost) ActNoMore() {
	h.tracking.TellOwn()
	h.tracking.Act(nil)
}

// RefusesWaiter implements shard.
func (h waitHost) RefusesWaiter(row *commands.Row) error { return standing(h).refusesWaiter(row) }

// Terminate implements shard.
func (h waitHost) Terminate(p *wait.Party) { h.terminate(clientOf(p)) }

// Terminates implements shard.
func (h waitHost) Terminates() bool { return len(h.terminated) > 0 }

// EndUnit implements shard.
func (h waitHost) EndUnit() { h.endUnit() }

// Renewed implements shard.
func (h waitHost) Renewed(db *store.DB, key []byte) { h.events.publish(db, "renew", key) }

// Observe implements shard.
func (h waitHost) Observe() { h.observe() }

// FollowEvents implements shard.
func (h waitHost) FollowEvents() { h.followEvents() }

// Paused implements shard.
func (h waitHost) Paused() bool { return h.pausing.untilMS != 0 }

// AfterPause implements shard.
func (h waitHost) AfterPause(f func()) { h.pausing.afterwards(f) }

// Publish implements shard.
func (h waitHost) Publish(channel, message []byte) { h.publish(channel, message) }

// AnyoneListens implements shard.
func (h waitHost) AnyoneListens() bool { return h.anyoneListens() }

// RunsFor implements shard.
func (h waitHost) RunsFor(owner string) bool { return h.scripts.RunsFor(owner) }

// Loading implements shard.
func (h waitHost) Loading() bool { return h.durable.Loading() }

// LeaseEnded implements shard.
func (h waitHost) LeaseEnded(db int, key []byte) { h.audit.LeaseEnded(db, key) }

// IsUser implements shard.
func (h waitHost) IsUser(u *acl.User) bool { return h.users.Find([]byte(u.Name())) == u }

// Acquired implements shard. Of several clients with the same low bits it is the last one that was there
// already.
func (h waitHost) Acquired(low, sinceMS int64) *wait.Party {
	for id := h.lastID - (h.lastID-low)&(store.RecordIDs-1); id > 0; id -= store.RecordIDs {
		if s := h.clients[id]; s != nil && s.Info.CreatedUS/1000 <= sinceMS {
			return &s.Party
		}
	}
	return nil
}

// clientOf is the connection of a party.
func clientOf(p *wait.Party) *session { return p.Client.(*session) }

var _ wait.Connection = (*session)(nil)

// Resume implements connection.
func (s *session) Resume(row *commands.Row) {
	if tr := s.tracker; tr != nil && tr.Caching && s.multi == nil {
		tr.EndCaching(row)
	}
	s.Info.LastUS = s.executor.store.NowUS() // it was not idle, and now begins to be
	s.executor.touch(s)
}

// Answered implements connection.
func (s *session) Answered(w *wait.Parked, mark int) {
	ex := s.executor
	if len(s.Out.Buf)-mark >= ex.gauge.ReplyBytes && !w.Muted {
		ex.logReply(s, w.Row, w.Words.Argv(), mark)
	}
	s.tells = true
	if ex.hook != nil {
		ex.hook.answered(w, mark)
	}
	s.checkOutput()
}

// Deliver implements connection.
func (s *session) Deliver(message []byte) { s.executor.deliver(s, message, true) }

// TakeInbox implements connection.
func (s *session) TakeInbox() {
	if len(s.inbox) > 0 {
		s.takeInbox()
	}
}

// Muted implements connection.
func (s *session) Muted() bool { return s.replies.isMuted() }

// Permit implements connection.
func (s *session) Permit(row *commands.Row, argv [][]byte) error {
	return s.permit(row, argv, acl.TopLevel)
}

// PermitIn implements connection.
func (s *session) PermitIn(user *acl.User, db *store.DB, row *commands.Row, argv [][]byte) error {
	return s.permitIn(user, db, row, argv, acl.TopLevel)
}

// Act implements connection.
func (s *session) Act() { s.executor.tracking.Act(s) }

// HasRead implements connection.
func (s *session) HasRead(row *commands.Row, argv [][]byte) {
	if s.tracker != nil {
		s.executor.tracking.Read(s, row, argv)
	}
}

// GuardPeer implements connection.
func (s *session) GuardPeer(silenceMS int64) { s.conn.GuardPeer(silenceMS) }

// Heard implements connection.
func (s *session) Heard() wait.Silence { return wait.Silence(s.conn.Heard()) }
