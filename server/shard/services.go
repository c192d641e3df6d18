package shard

import (
	"slices"

	"lockserver/commands"
	"lockserver/store"
)

var _ commands.ShardServices = (*Shard)(nil)

// Park implements commands.ShardServices.
func (sh *Shard) Park(c *commands.Ctx, w commands.Wait) error { return sh.Waits.Park(c, w) }

// TryAgainAt implements commands.ShardServices.
func (sh *Shard) TryAgainAt(c *commands.Ctx, key []byte, atMS int64) {
	sh.Waits.TryAgainAt(c, key, atMS)
}

// NextToken implements commands.ShardServices.
func (sh *Shard) NextToken(floor int64) int64 { return sh.Durable.NextToken(floor) }

// Held implements commands.ShardServices.
func (sh *Shard) Held(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	sh.Waits.Watchdog.Held(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// StopRenewing implements commands.ShardServices.
func (sh *Shard) StopRenewing(c *commands.Ctx, key []byte) { sh.Waits.Watchdog.StopRenewing(c, key) }

// HeldShare implements commands.ShardServices.
func (sh *Shard) HeldShare(c *commands.Ctx, key, owner []byte, token int64, renewed bool, was uint64) (record uint64) {
	sh.Waits.Watchdog.HeldShare(c, key, owner, token, renewed)
	return lockRecord(c, was)
}

// ReleasedShare implements commands.ShardServices.
func (sh *Shard) ReleasedShare(c *commands.Ctx, key, owner []byte, released bool) {
	sh.Waits.Watchdog.ReleasedShare(c, key, owner, released)
}

// ForcedShare implements commands.ShardServices.
func (sh *Shard) ForcedShare(c *commands.Ctx, key, owner []byte) {
	sh.Waits.Watchdog.ForcedShare(c, key, owner)
}

// Emptied implements commands.ShardServices.
func (sh *Shard) Emptied() { sh.Durable.Emptied() }

// RisingSecond implements commands.ShardServices.
func (sh *Shard) RisingSecond(nowS int64) int64 {
	sh.idSecond = max(sh.idSecond, nowS)
	return sh.idSecond
}

// Unconfirmed implements commands.ShardServices.
func (sh *Shard) Unconfirmed(c *commands.Ctx, keys [][]byte, owner []byte) bool {
	return !slices.ContainsFunc(keys, func(key []byte) bool { return len(sh.Waits.Grants.Of(c.DB.ID(), key, owner)) == 0 })
}

// Confirmed implements commands.ShardServices.
func (sh *Shard) Confirmed(c *commands.Ctx, key, owner []byte, token int64) {
	if sh.Waits.Grants.Len() > 0 {
		sh.Waits.Confirmed(c.DB, key, owner, token)
	}
}

// StaleToken implements commands.ShardServices.
func (sh *Shard) StaleToken(c *commands.Ctx) { sh.Stats.LocksOf(c.DB.ID()).StaleTokens++ }

// LockEvent implements commands.ShardServices.
func (sh *Shard) LockEvent(c *commands.Ctx) { sh.Waits.LockEvent(c) }

// lockRecord is what a lock that is acquired now keeps about its holder. was is the same if another client of
// the same owner has acquired it before.
func lockRecord(c *commands.Ctx, was uint64) uint64 {
	since := c.NowMS()
	if was != 0 {
		_, since = store.ReadLockRecord(was)
	}
	return store.NewLockRecord(c.Session.ID(), since)
}
