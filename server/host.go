package server

import (
	"slices"

	"lockserver/commands"
	"lockserver/server/replication"
	"lockserver/store"
)

// This file is commands.Services, the whole of it: what commands on data ask of the process around them. Each
// method calls the part of the server that does the work. The other half, commands.Session, is session.ID.

var _ commands.Services = services{}

// Park implements commands.Services.
func (h services) Park(c *commands.Ctx, w commands.Wait) error { return h.waits.Park(c, w) }

// TryAgainAt implements commands.Services.
func (h services) TryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	h.waits.TryAgainAt(c, key, atMS)
}

// NextToken implements commands.Services.
func (h services) NextToken(floor int64) int64 { return h.durable.NextToken(floor) }

// Held implements commands.Services.
func (h services) Held(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	h.waits.Watchdog.Held(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// lockRecord is what a lock that is acquired now keeps about its holder. was is the same if another client of
// the same owner has acquired it before.
func lockRecord(c *commands.Ctx, was uint64) uint64 {
	since := c.NowMS()
	if was != 0 {
		_, since = store.ReadLockRecord(was)
	}
	return store.NewLockRecord(sessionOf(c).Number, since)
}

// Released implements commands.Services.
func (h services) Released(c *commands.Ctx, key []byte, forced bool) (listened bool) {
	h.waits.Watchdog.Released(c, key, forced)
	return h.anyoneListens()
}

// StopRenewing implements commands.Services.
func (h services) StopRenewing(c *commands.Ctx, key []byte) { h.waits.Watchdog.StopRenewing(c, key) }

// HeldShare implements commands.Services.
func (h services) HeldShare(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	h.waits.Watchdog.HeldShare(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// ReleasedShare implements commands.Services.
func (h services) ReleasedShare(c *commands.Ctx, key, owner []byte, released bool) {
	h.waits.Watchdog.ReleasedShare(c, key, owner, released)
}

// ForcedShare implements commands.Services.
func (h services) ForcedShare(c *commands.Ctx, key, owner []byte) {
	h.waits.Watchdog.ForcedShare(c, key, owner)
}

// Publish implements commands.Services.
func (h services) Publish(channel, message []byte) int64 {
	h.handOnMessage(replication.Channel, channel, message)
	if p := h.opts.peers; p != nil {
		p.publish(channel, message)
	}
	return h.publish(channel, message)
}

// AnyoneListens implements commands.Services.
func (h services) AnyoneListens() bool { return h.anyoneListens() }

func (ex *executor) anyoneListens() bool {
	return ex.pubsub.Subscribers() > 0 || ex.replication.HasReplicas() || ex.opts.peers != nil && ex.opts.peers.anyoneListens()
}

// TellFirst implements commands.Services.
func (h services) TellFirst(c *commands.Ctx) { // nothing has been answered yet
	if s := sessionOf(c); h.tracking.InUse() && !s.replies.isMuted() {
		h.tracking.TellOwn()
		s.takeInbox()
	}
}

// Emptied implements commands.Services.
func (h services) Emptied() { h.durable.Emptied() }

// KeyEvent implements commands.Services.
func (h services) KeyEvent(db *store.DB, event string, key []byte) {
	h.events.publish(db, event, key)
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

// Unconfirmed implements commands.Services.
func (h services) Unconfirmed(c *commands.Ctx, keys [][]byte, owner []byte) bool {
	return !slices.ContainsFunc(keys, func(key []byte) bool { return len(h.waits.Grants.Of(c.DB.ID(), key, owner)) == 0 })
}

// Confirmed implements commands.Services.
func (h services) Confirmed(c *commands.Ctx, key, owner []byte, token int64) {
	if h.waits.Grants.Len() > 0 {
		h.waits.Confirmed(c.DB, key, owner, token)
	}
}

// StaleToken implements commands.Services.
func (h services) StaleToken(c *commands.Ctx) { h.stats.LocksOf(c.DB.ID()).StaleTokens++ }

// RisingSecond implements commands.Services.
func (h services) RisingSecond(nowS int64) int64 {
	h.idSecond = max(h.idSecond, nowS)
	return h.idSecond
}

// LockEvent implements commands.Services.
func (h services) LockEvent(c *commands.Ctx) { h.waits.LockEvent(c) }
