package server

import (
	"log/slog"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/server/durability"
	"lockserver/server/groups"
	"lockserver/server/migration"
	"lockserver/server/pubsub"
	"lockserver/server/slotdata"
	"lockserver/server/wait"
	"lockserver/store"
)

// migrationHost is the executor as the driver of its moves of slots sees it.
type migrationHost struct{ *executor }

var _ migration.Server = migrationHost{}

// Slice implements migration.Server.
func (h migrationHost) Slice(f func()) { replicationHost(h).Slice(f) }

// Background implements migration.Server.
func (h migrationHost) Background(f func()) { h.host.background(f) }

// Log implements migration.Server.
func (h migrationHost) Log() *slog.Logger { return h.Logger }

// NowMS implements migration.Server.
func (h migrationHost) NowMS() int64 { return h.Store.NowMS() }

// Data implements migration.Server.
func (h migrationHost) Data() *store.Store { return h.Store }

// Follow implements migration.Server.
func (h migrationHost) Follow(j durability.Journal) { durability.Follow(&h.Durable, j) }

// LastToken implements migration.Server.
func (h migrationHost) LastToken() int64 { return h.Durable.LastToken() }

// Left implements migration.Server. Connections that expect news of the keys are closed, as at a change of
// the lead: clients connect again, and ask where the keys are.
func (h migrationHost) Left(slots *slotdata.Slots) {
	ex := h.executor
	for _, s := range ex.clients {
		if w := s.Waiter; w != nil {
			call := s.callOf(w.Row, w.Words.Argv(), w.Row.Flags)
			if err := ex.group.Misplaced(&s.place, &call); err != nil {
				ex.Waits.RefuseFor(lockhistory.Failover)
				ex.Waits.Answer(w, func(*commands.Ctx) error { return err })
			}
		}
		if s.RenewsAny(slots.Has) || hearsShardOf(s, slots) {
			ex.terminate(s)
		}
	}
	for _, p := range wait.EndMoved(&ex.Waits, slots.Has) {
		if s := ex.clients[p.Number]; s != nil {
			ex.terminate(s)
		}
	}
	ex.watching.KeysChanged(0, slots.Has)
	if ex.tracking.InUse() {
		ex.tracking.Flushed()
	}
}

// hearsShardOf reports whether the session is subscribed to a sharded channel of the slots.
func hearsShardOf(s *session, slots *slotdata.Slots) bool {
	if s.subs == nil {
		return false
	}
	for name := range s.subs.All(pubsub.Shard) {
		if slots.Has([]byte(name)) {
			return true
		}
	}
	return false
}

// joinShards makes the server a member of a group that is one of several shards.
func (ex *executor) joinShards(in *groups.Shard) {
	ex.opts.inCluster = in
	ex.movers = migration.New(migrationHost{ex}, ex.Member, in)
	ex.group.UseMover(ex.movers)
}
