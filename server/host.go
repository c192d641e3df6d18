package server

import (
	"lockserver/commands"
	"lockserver/server/acl"
	"lockserver/server/wait"
	"lockserver/store"
)

// This file holds what commands on data ask of the process around them (commands.Services), and what waits
// ask of the server and of a connection (wait.Shard, wait.Connection). Each method calls the part of the
// server that does the work.

var _ commands.Services = services{}

// Released implements commands.Services.
func (h services) Released(c *commands.Ctx, key []byte, forced bool) (listened bool) {
	h.Waits.Watchdog.Released(c, key, forced)
	return h.anyoneListens()
}

// Publish implements commands.Services.
func (h services) Publish(channel, message []byte) int64 {
	h.Durable.Message("PUBLISH", channel, message)
	if p := h.opts.peers; p != nil {
		p.publish(channel, message)
	}
	return h.publish(channel, message)
}

// AnyoneListens implements commands.Services.
func (h services) AnyoneListens() bool { return h.anyoneListens() }

func (ex *executor) anyoneListens() bool {
	return ex.pubsub.Subscribers() > 0 || ex.Replication.HasReplicas() || ex.opts.peers != nil && ex.opts.peers.anyoneListens()
}

// TellFirst implements commands.Services.
func (h services) TellFirst(c *commands.Ctx) { // nothing has been answered yet
	if s := sessionOf(c); h.tracking.InUse() && !s.mute.mode.isMuted() {
		h.tracking.TellOwn()
		s.takeInbox()
	}
}

// KeyEvent implements commands.Services.
func (h services) KeyEvent(db *store.DB, event string, key []byte) {
	keyEvents(h).send(db, event, key)
}

// Nested implements commands.Services.
func (h services) Nested(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	return h.nested(c, row, argv)
}

// ReadsEverything implements commands.Services.
func (h services) ReadsEverything(c *commands.Ctx) bool {
	s := sessionOf(c)
	return h.rights.ReadsEverything(s.User, s.DB, c.Row, c.Argv)
}

// MayRead implements commands.Services.
func (h services) MayRead(c *commands.Ctx, key []byte) bool {
	return sessionOf(c).User.MayRead(c.DB.ID(), key)
}

// waitHost is the executor as waits see it.
type waitHost struct{ *executor }

var _ wait.Server = waitHost{}

// ActNoMore implements shard.
func (h waitHost) ActNoMore() {
	h.tracking.TellOwn()
	h.tracking.Act(nil)
}

// RefusesWaiter implements shard.
func (h waitHost) RefusesWaiter(row *commands.Row) error { return standing(h).refusesWaiter(row) }

// Terminate implements shard.
func (h waitHost) Terminate(p *wait.Party) { h.terminate(clientOf(p)) }

// Renewed implements shard.
func (h waitHost) Renewed(db *store.DB, key []byte) { keyEvents(h).send(db, "renew", key) }

// Observe implements shard.
func (h waitHost) Observe() { h.observe() }

// FollowEvents implements shard.
func (h waitHost) FollowEvents() { h.followEvents() }

// Publish implements shard.
func (h waitHost) Publish(channel, message []byte) { h.publish(channel, message) }

// AnyoneListens implements shard.
func (h waitHost) AnyoneListens() bool { return h.anyoneListens() }

// RunsFor implements shard.
func (h waitHost) RunsFor(owner string) bool { return h.scripts.RunsFor(owner) }

// LeaseEnded implements shard.
func (h waitHost) LeaseEnded(db int, key []byte) { h.audit.LeaseEnded(db, key) }

// IsUser implements shard.
func (h waitHost) IsUser(u *acl.User) bool { return h.users.Find([]byte(u.Name())) == u }

// Acquired implements shard. Of several clients with the same low bits it returns the last client that
// was there at that time.
func (h waitHost) Acquired(low, sinceMS int64) *wait.Party {
	for id := h.lastID - (h.lastID-low)&(store.RecordIDs-1); id > 0; id -= store.RecordIDs {
		if s := h.clients[id]; s != nil && s.Info.CreatedUS/1000 <= sinceMS {
			return &s.Party
		}
	}
	return nil
}

var _ wait.Connection = waitClient{}

// Resume implements connection.
func (s waitClient) Resume(row *commands.Row) {
	if tr := s.tracker; tr != nil && tr.Caching && s.tx.multi == nil {
		tr.EndCaching(row)
	}
	s.Info.LastUS = s.executor.Store.NowUS() // it was not idle, and now begins to be
	s.executor.Touch(&s.Party)
}

// Answered implements connection.
func (s waitClient) Answered(w *wait.Parked, mark int) {
	ex := s.executor
	if len(s.Out.Buf)-mark >= ex.Gauge.ReplyBytes && !w.Muted {
		meter{ex}.logReply(s.session, w.Row, w.Words.Argv(), mark)
	}
	s.Tells = true
	if ex.hook != nil {
		ex.hook.answered(w, mark)
	}
	s.checkOutput()
}

// Deliver implements connection.
func (s waitClient) Deliver(message []byte) { s.executor.deliver(s.session, message, true) }

// TakeInbox implements connection.
func (s waitClient) TakeInbox() {
	if s.inbox.Len() > 0 {
		s.takeInbox()
	}
}

// Muted implements connection.
func (s waitClient) Muted() bool { return s.mute.mode.isMuted() }

// Permit implements connection.
func (s waitClient) Permit(row *commands.Row, argv [][]byte) error {
	return s.permit(row, argv, acl.TopLevel)
}

// PermitIn implements connection.
func (s waitClient) PermitIn(user *acl.User, db *store.DB, row *commands.Row, argv [][]byte) error {
	return s.permitIn(user, db, row, argv, acl.TopLevel)
}

// Act implements connection.
func (s waitClient) Act() { s.executor.tracking.Act(s.session) }

// HasRead implements connection.
func (s waitClient) HasRead(row *commands.Row, argv [][]byte) {
	if s.tracker != nil {
		s.executor.tracking.Read(s.session, row, argv)
	}
}

// GuardPeer implements connection.
func (s waitClient) GuardPeer(silenceMS int64) { s.output.Conn.GuardPeer(silenceMS) }

// Heard implements connection.
func (s waitClient) Heard() wait.Silence { return wait.Silence(s.output.Conn.Heard()) }
