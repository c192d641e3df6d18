package server

import (
	"log/slog"
	"slices"

	"lockserver/commands"
	"lockserver/internal/lockhistory"
	"lockserver/server/durability"
	"lockserver/server/groups"
	"lockserver/server/migration"
	"lockserver/server/pubsub"
	"lockserver/server/slotdata"
	"lockserver/server/slotmove"
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

// QueuedWaits implements migration.Server.
func (h migrationHost) QueuedWaits(slots *slotdata.Slots, most int) (all []slotmove.QueuedWait) {
	wait.MovedWaits(&h.executor.Waits, slots.Has, func(w wait.MovedWait) bool {
		all = append(all, slotmove.QueuedWait(w))
		most -= all[len(all)-1].Size()
		return most > 0
	})
	return all
}

// enteredPerSlice is the number of waits that enter their queues while others wait for the lock.
const enteredPerSlice = 500

// EnterWaits implements migration.Server.
func (h migrationHost) EnterWaits(all []slotmove.QueuedWait, shiftMS int64) {
	ex := h.executor
	for part := range slices.Chunk(all, enteredPerSlice) {
		h.Slice(func() {
			if ex.Waits.Follows {
				return
			}
			for i := range part {
				w := wait.MovedWait(part[i])
				if w.SinceUS += shiftMS * 1000; w.DeadlineMS != 0 {
					w.DeadlineMS += shiftMS
				}
				ex.enterWait(&w)
			}
			h.EndUnit()
		})
	}
}

// enterWait lets a wait of another shard enter its queues. It has a session of its own, which has ended.
func (ex *executor) enterWait(w *wait.MovedWait) {
	user := ex.users.Find([]byte(w.User))
	if user == nil {
		return
	}
	s := ex.newSession(noConn{})
	s.User, s.Dead, s.Terminated = user, true, true
	if err := wait.EnterMoved(&s.Party, ex.Table, w); err != nil {
		ex.Logger.Debug("raft: a wait does not go along with its slots", "cause", err)
	}
	ex.Waits.LeavePlaces(&s.Party)
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
