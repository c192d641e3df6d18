package engine

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// Status implements raft.Engine.
func (e *Engine) Status() raft.Status {
	r, err := e.now()
	if err != nil {
		s := raft.Status{ID: e.options.ID, State: "shutdown", ContactMS: -1}
		if d := e.bad.Load(); d != nil {
			s.Damaged = d.Error()
		}
		return s
	}
	y := e.options.Identity
	s := raft.Status{ID: e.options.ID, Group: y.Group(), Incarnation: y.incarnation, Waiting: r.waiting.is(), Refusals: y.refusals(),
		Damaged:   r.of.options.damaged.is(),
		DiskError: cmp.Or(r.logFault.is(), r.stableFault.is()), State: strings.ToLower(r.raft.State().String()), Term: r.raft.CurrentTerm(),
		LastIndex: r.raft.LastIndex(), CommitIndex: r.raft.CommitIndex(), ContactMS: r.contactMS(), HandedOn: r.ackTransport.handsOn(), Removed: r.removed.Load()}
	s.AppliedIndex, s.SnapshotIndex = r.applied()
	y.checks.status(&s)
	f := r.raft.GetConfiguration()
	if f.Error() == nil {
		for _, m := range f.Configuration().Servers {
			p := peerOf(m.ID, m.Address)
			p.Learner = m.Suffrage != hraft.Voter
			s.Peers = append(s.Peers, p)
		}
		s.Observed = r.observed(f.Configuration().Servers)
	}
	if at, id := r.raft.LeaderWithID(); id != "" {
		s.Leader = peerOf(id, at)
		if p, ok := raft.Find(s.Peers, string(id)); ok {
			s.Leader = p // as it was configured
		}
	}
	return s
}

// Times implements raft.Engine. Members that are no longer in the group are left out.
func (e *Engine) Times() (all raft.Times) {
	at := time.Now()
	all.Sync, all.Commit = e.times.syncs.read(at), e.times.commits.read(at)
	r, err := e.now()
	if err != nil {
		return all
	}
	for _, s := range r.members() {
		e.times.mu.Lock()
		trips := e.times.trips[s.ID]
		e.times.mu.Unlock()
		if trips != nil {
			all.Trips = append(all.Trips, raft.Trip{ID: string(s.ID), Series: trips.read(at)})
		}
	}
	return all
}

// applied is the newest entry that is in the machine's data, and the newest in a snapshot. The library's own
// number is that of the newest entry that waits to be applied. It counts here only if nothing waits and the
// machine has all but a few entries, which are the library's own.
func (r *running) applied() (index, snapshot uint64) {
	queued, stats := r.raft.AppliedIndex(), r.raft.Stats()
	snapshot, _ = strconv.ParseUint(stats["last_snapshot_index"], 10, 64)
	index = max(r.fsm.done.Load(), snapshot)
	if queued > index && queued-index <= unreported && stats["fsm_pending"] == "0" && !r.fsm.busy.Load() && !r.fsm.replaying() {
		index = queued
	}
	return index, snapshot
}
