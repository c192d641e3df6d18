package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// Members ask each other every few seconds how they are, by the question for a Hello. So each of them knows
// which members can be reached, how far behind they are, and how full their disks are.

const (
	// surveyEvery is how often a member asks the others.
	surveyEvery = 3 * time.Second
	// surveyFor is how long an answer may take.
	surveyFor = time.Second
	// mostSamples bounds how many times of commits are remembered.
	mostSamples = 1024
	// unreported is how many entries at the end of the log may be none of the machine's: a leader's first
	// ones.
	unreported = 8
)

// surveying has the last observations of the members.
type surveying struct {
	mu sync.Mutex
	// last has the last observation of each member.
	last map[string]raft.Observation
	// heard is when each member answered last.
	heard   map[string]time.Time
	samples []sample // the oldest is the first
}

// sample is the commit index at a time.
type sample struct {
	at    time.Time
	index uint64
}

// sampleCommit remembers the commit index of this moment, if it has risen.
func (y *surveying) sampleCommit(now time.Time, index uint64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if n := len(y.samples); n > 0 && y.samples[n-1].index >= index {
		return
	}
	if len(y.samples) == mostSamples { // every second one goes, so that old ones stay
		kept := y.samples[:0]
		for i := 0; i < mostSamples; i += 2 {
			kept = append(kept, y.samples[i])
		}
		y.samples = kept
	}
	y.samples = append(y.samples, sample{now, index})
}

// behindMS returns for how long the first entry behind an index has been committed; 0: no later entry is
// committed. It is exact to tendEvery.
func (y *surveying) behindMS(now time.Time, applied uint64) int64 {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, s := range y.samples {
		if s.index > applied {
			return now.Sub(s.at).Milliseconds()
		}
	}
	return 0
}

// survey is the goroutine that asks the others.
func (r *running) survey() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.watching.Go(func() {
		<-r.ended
		cancel()
	})
	for {
		r.surveyOnce(ctx)
		pause := surveyEvery
		if r.hasUnasked() {
			pause = tendEvery
		}
		select {
		case <-r.ended:
			return
		case <-time.After(pause):
		}
	}
}

// hasUnasked reports whether there are members that were not asked yet.
func (r *running) hasUnasked() bool {
	all := r.members()
	r.surveying.mu.Lock()
	defer r.surveying.mu.Unlock()
	for _, s := range all {
		if _, asked := r.surveying.last[string(s.ID)]; !asked {
			return true
		}
	}
	return len(all) == 0
}

// surveyOnce asks all members at once, and remembers what they say.
func (r *running) surveyOnce(ctx context.Context) {
	all := r.members()
	ctx, cancel := context.WithTimeout(ctx, surveyFor)
	defer cancel()
	var others []raft.Peer
	for _, s := range all {
		if s.ID != r.self {
			others = append(others, peerOf(s.ID, s.Address))
		}
	}
	found := r.of.ask(ctx, others)
	if ctx.Err() != nil && r.hasEnded() {
		return
	}
	r.observe(found, time.Now())
}

// hasEnded reports whether the engine is closed.
func (r *running) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// observe records the answers of the others, and adds how this member is.
func (r *running) observe(found []heardOf, now time.Time) {
	o := &r.of.options
	self := raft.Observation{ID: o.ID, Incarnation: o.Identity.incarnation, Reachable: true, Version: o.Version, Damaged: o.damaged.is(), Reported: true, Report: r.report()}
	all := []raft.Observation{self}
	commit := self.Commit
	r.surveying.mu.Lock()
	heard := map[string]time.Time{o.ID: now}
	for i := range found {
		h := &found[i]
		id := h.peer.ID
		is := raft.Observation{ID: id, Incarnation: h.peer.Incarnation, Why: whyUnreachable(h)}
		if is.Why == "" {
			is.Reachable, is.Version, is.Reported, is.Report, is.SkewMS = true, h.Version, h.Reported, h.Report, h.skewMS()
			is.Damaged = h.Damaged
			if !h.Reported {
				is.Report = raft.NoReport()
			}
			heard[id] = now
			commit = max(commit, is.Commit)
			r.hear(&is)
		} else {
			is.Report = raft.NoReport()
			if was, known := r.surveying.last[id]; known && was.Incarnation == is.Incarnation {
				is.Version, is.Reported, is.Report = was.Version, was.Reported, was.Report
			}
			heard[id] = r.surveying.heard[id]
		}
		all = append(all, is)
	}
	r.surveying.heard = heard
	r.surveying.mu.Unlock()
	r.surveying.sampleCommit(now, commit)
	last := make(map[string]raft.Observation, len(all))
	for _, is := range all {
		if is.Reported && commit > is.Applied {
			is.Lag, is.LagMS = commit-is.Applied, r.surveying.behindMS(now, is.Applied)
		}
		last[is.ID] = is
	}
	r.surveying.mu.Lock()
	r.surveying.last = last
	r.surveying.mu.Unlock()
}

// hear looks for this member among those of a leader.
func (r *running) hear(is *raft.Observation) {
	if len(is.Members) == 0 {
		return
	}
	if removed := !slices.Contains(is.Members, string(r.self)); r.removed.Swap(removed) != removed {
		r.fsm.machine().Changed()
	}
}

// skewMS is how far the clock of a member is ahead of this machine's, at least; below 0: behind. The member
// has read its clock between the question and the answer, so less than that is not known.
func (h *heardOf) skewMS() int64 {
	switch is := h.NowMS; {
	case !h.Reported || is == 0:
	case is > h.heardMS:
		return is - h.heardMS
	case is < h.askedMS:
		return is - h.askedMS
	}
	return 0
}

// whyUnreachable is why a member is not reachable, by its answer; empty: it is.
func whyUnreachable(h *heardOf) string {
	switch {
	case h.err != nil:
		return h.err.Error()
	case h.ID != h.peer.ID:
		return "a server with the raft-id '" + h.ID + "' answers at its address"
	case h.peer.Incarnation != "" && h.Incarnation != h.peer.Incarnation:
		return "the server at its address has another disk than the group knows"
	}
	return ""
}

// observed returns the observations of all members at this time. A member that is not reachable was last
// heard of when it answered a request of any kind.
func (r *running) observed(peers []hraft.Server) (all []raft.Observation) {
	now := time.Now()
	r.surveying.mu.Lock()
	defer r.surveying.mu.Unlock()
	for _, s := range peers {
		id := string(s.ID)
		is, known := r.surveying.last[id]
		if !known {
			continue
		}
		at := r.surveying.heard[id]
		if seen := r.ackTransport.seenOf(s.Address).at; seen.After(at) {
			at = seen
		}
		if is.HeardMS = -1; !at.IsZero() {
			is.HeardMS = now.Sub(at).Milliseconds()
			is.SinceMS = at.UnixMilli()
		}
		is.ClientFault = r.clients.fault(id)
		all = append(all, is)
	}
	return all
}

// Survey implements raft.Engine.
func (e *Engine) Survey() raft.Status {
	if r, err := e.now(); err == nil && e.options.Identity != nil {
		r.surveyOnce(context.Background())
	}
	return e.Status()
}

// report is how this member is.
func (r *running) report() raft.Report {
	is := r.fsm.machine().Condition()
	p := raft.Report{History: raft.HistoryVersion, Users: is.Users, Role: is.Role, SinceMS: is.SinceMS, Snapshot: is.Snapshot, StartedMS: r.startedMS, NowMS: r.of.options.nowMS(),
		Last: r.raft.LastIndex(), Commit: r.raft.CommitIndex(), ContactMS: r.contactMS(), DiskFree: -1, DiskSize: -1}
	syncs := r.of.times.syncs.read(time.Now())
	p.SyncUS = syncs.P99US()
	p.Applied, _ = r.applied()
	if space := r.of.options.Space; space != nil {
		p.DiskFree, p.DiskSize = space()
	}
	members := r.members()
	p.Addresses = addresses(members)
	if r.raft.State() == hraft.Leader {
		for _, s := range members {
			p.Members = append(p.Members, string(s.ID))
		}
	}
	return p
}

// contactMS is how long ago this member has heard of the leader; -1: never, or it leads.
func (r *running) contactMS() int64 {
	if last := r.raft.LastContact(); !last.IsZero() && r.raft.State() != hraft.Leader {
		return time.Since(last).Milliseconds()
	}
	return -1
}
