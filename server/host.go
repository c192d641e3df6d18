package server

import (
	"slices"

	"lockserver/commands"
	"lockserver/server/replication"
	"lockserver/store"
)

// This file is commands.Services, the whole of it: what commands on data ask of the process around them. Each
// method calls the part of the server that does the work. The other half, commands.Session, is session.ID.

var _ commands.Services = (*executor)(nil)

// Park implements commands.Services.
func (ex *executor) Park(c *commands.Ctx, w commands.Wait) error { return ex.park(c, w) }

// TryAgainAt implements commands.Services.
func (ex *executor) TryAgainAt(c *commands.Ctx, key []byte, atMS int64) { ex.tryAgainAt(c, key, atMS) }

// NextToken implements commands.Services.
func (ex *executor) NextToken(floor int64) int64 { return ex.durable.NextToken(floor) }

// Held implements commands.Services.
func (ex *executor) Held(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	ex.held(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// Released implements commands.Services.
func (ex *executor) Released(c *commands.Ctx, key []byte, forced bool) { ex.released(c, key, forced) }

// StopRenewing implements commands.Services.
func (ex *executor) StopRenewing(c *commands.Ctx, key []byte) { ex.stopRenewing(c, key) }

// HeldShare implements commands.Services.
func (ex *executor) HeldShare(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	ex.heldShare(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// ReleasedShare implements commands.Services.
func (ex *executor) ReleasedShare(c *commands.Ctx, key, owner []byte, released bool) {
	ex.releasedShare(c, key, owner, released)
}

// ForcedShare implements commands.Services.
func (ex *executor) ForcedShare(c *commands.Ctx, key, owner []byte) { ex.forcedShare(c, key, owner) }

// Publish implements commands.Services.
func (ex *executor) Publish(channel, message []byte) int64 {
	ex.handOnMessage(replication.Channel, channel, message)
	return ex.publish(channel, message)
}

// AnyoneListens implements commands.Services.
func (ex *executor) AnyoneListens() bool {
	return ex.pubsub.Subscribers() > 0 || ex.replication.HasReplicas()
}

// TellFirst implements commands.Services.
func (ex *executor) TellFirst(c *commands.Ctx) { ex.tellFirst(sessionOf(c)) }

// Emptied implements commands.Services.
func (ex *executor) Emptied() { ex.durable.Emptied() }

// KeyEvent implements commands.Services.
func (ex *executor) KeyEvent(db *store.DB, event string, key []byte) {
	ex.publishEvent(db, event, key)
}

// Nested implements commands.Services.
func (ex *executor) Nested(c *commands.Ctx, row *commands.Row, argv [][]byte) error {
	return ex.nested(c, row, argv)
}

// ReadsEverything implements commands.Services.
func (ex *executor) ReadsEverything(c *commands.Ctx) bool {
	s := sessionOf(c)
	return ex.rights.ReadsEverything(s.user, s.db, c.Row, c.Argv)
}

// MayRead implements commands.Services.
func (ex *executor) MayRead(c *commands.Ctx, key []byte) bool {
	return sessionOf(c).user.MayRead(c.DB.ID(), key)
}

// Unconfirmed implements commands.Services.
func (ex *executor) Unconfirmed(c *commands.Ctx, keys [][]byte, owner []byte) bool {
	return !slices.ContainsFunc(keys, func(key []byte) bool { return len(ex.grants.Of(c.DB.ID(), key, owner)) == 0 })
}

// Confirmed implements commands.Services.
func (ex *executor) Confirmed(c *commands.Ctx, key, owner []byte, token int64) {
	if ex.grants.Len() > 0 {
		ex.confirmed(c.DB, key, owner, token)
	}
}

// StaleToken implements commands.Services.
func (ex *executor) StaleToken(c *commands.Ctx) { ex.stats.LocksOf(c.DB.ID()).StaleTokens++ }

// RisingSecond implements commands.Services.
func (ex *executor) RisingSecond(nowS int64) int64 {
	ex.idSecond = max(ex.idSecond, nowS)
	return ex.idSecond
}
