package engine

import (
	"context"
	"errors"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// The leader tends its group. It makes learners voters when they have caught up, and finds members that have
// another disk than the group knows. It gives an id to a group that was formed without one.
//
// A member with a new disk loses its vote before it is called: first it is made a learner of the new
// incarnation. Its old votes and acknowledgements do not count, because it refuses members that know only the
// old incarnation.

const (
	// tendEvery is how often a member looks after its group.
	tendEvery = 200 * time.Millisecond
	// silentFor is after how long without an answer a member is asked for its identity.
	silentFor = time.Second
)

// tend is the goroutine that looks after the group.
func (r *running) tend() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.watching.Go(func() {
		<-r.ended
		cancel()
	})
	for {
		r.look(ctx)
		select {
		case <-r.ended:
			return
		case <-time.After(tendEvery):
		}
	}
}

// look does what is to be done now.
func (r *running) look(ctx context.Context) {
	all := r.members()
	if len(all) == 0 {
		r.form(ctx)
		return
	}
	r.wait("")
	now, commit := time.Now(), r.raft.CommitIndex()
	r.surveying.sampleCommit(now, commit)
	r.of.options.committed.write(commit, now)
	y := r.of.options.Identity
	if err := y.learn(groupOf(all)); err != nil {
		return // the disk is full: the library says so, and it is tried again
	}
	if r.leads.Load() == 0 || r.raft.State() != hraft.Leader {
		r.mark = mark{}
		return
	}
	if y.Group() == "" {
		r.name(ctx, all)
		return
	}
	r.promote(all)
	r.replaceNew(ctx, all)
	r.nameRest(ctx, all)
}

// errOtherDisk is the reason of a member not to stand for election if the group knows it by another disk.
// Its log may be from the time when that disk had a vote.
var errOtherDisk = errors.New("the disk of this member is not the one that the group knows")

// errHasStopped is why a member does not stand for election that has stopped, and tells the others of it.
var errHasStopped = errors.New("this member has stopped")

// stands is why this member does not stand for election; nil: it does.
func (r *running) stands() error {
	if r.of.Verdict().Finding == raft.Differs {
		return errOtherData
	}
	if r.fsm.machine().Condition().Stopped() {
		return errHasStopped
	}
	s, _ := r.find(string(r.self))
	if known := peerOf(s.ID, s.Address).Incarnation; known != "" && known != r.of.options.Identity.incarnation {
		return errOtherDisk
	}
	return nil
}

// promote makes a learner a voter that has all that was committed a moment ago. It answers, so that the
// majority that there is then can be reached.
func (r *running) promote(all []hraft.Server) {
	before := r.mark
	r.mark = mark{r.raft.CurrentTerm(), r.raft.CommitIndex()}
	if before.term != r.mark.term {
		return
	}
	for _, s := range all {
		seen := r.ackTransport.seenOf(s.Address)
		// plant:promote-behind
		if s.Suffrage == hraft.Voter || seen.matched < before.index || time.Since(seen.at) > silentFor {
			continue
		}
		if r.await(r.raft.AddVoter(s.ID, s.Address, 0, patience))() == nil {
			r.of.options.Log.Info("raft: a learner has caught up, and is a voter", "member", string(s.ID))
		}
		return
	}
}

// replaceNew makes members that are there with another disk than the group knows learners.
func (r *running) replaceNew(ctx context.Context, all []hraft.Server) {
	var silent []raft.Peer
	for _, s := range all {
		if s.ID != r.self && time.Since(r.ackTransport.seenOf(s.Address).at) > silentFor {
			silent = append(silent, peerOf(s.ID, s.Address))
		}
	}
	if len(silent) == 0 || time.Since(r.asked) < silentFor {
		return
	}
	r.asked = time.Now()
	for _, h := range r.of.ask(ctx, silent) {
		if h.err != nil || h.ID != h.peer.ID || h.Incarnation == h.peer.Incarnation || h.peer.Incarnation == "" && h.Group == r.of.options.Identity.Group() && !h.Empty {
			continue // the last ones are nameRest's
		}
		if err := r.unacceptable(&h.Hello); err != nil {
			r.of.options.Identity.refuse("", h.peer.Raft, err)
			continue
		}
		r.of.options.Log.Warn("raft: the disk of a member is another than the group knows: what it had acknowledged is lost with it. It gets the data anew, "+
			"and has no vote until it has caught up", "member", h.ID, "disk", h.Incarnation, "known", said(h.peer.Incarnation))
		h.peer.Incarnation = h.Incarnation
		if err := r.replace(h.peer); err != nil {
			r.of.options.Log.Warn("raft: a member could not be made a learner", "member", h.ID, "cause", err)
		}
	}
}

// replace makes a member a learner, with another disk or at another address.
func (r *running) replace(p raft.Peer) error {
	id := hraft.ServerID(p.ID)
	for _, s := range r.members() {
		if s.ID != id || s.Suffrage != hraft.Voter {
			continue
		}
		if err := r.await(r.raft.DemoteVoter(id, 0, patience))(); err != nil {
			return err
		}
	}
	return r.await(r.raft.AddNonvoter(id, configured(p, r.of.options.Identity.Group()), 0, patience))()
}

// name gives an id to a group that an older version has formed. A majority of the voters must be there with
// their data, and no member may be of an older version: that would not know addresses with more than two
// parts. Members that are away keep the addresses that they have (nameRest). A member with a new disk is
// found when there is an id (replaceNew).
func (r *running) name(ctx context.Context, all []hraft.Server) {
	if time.Since(r.asked) < silentFor {
		return
	}
	r.asked = time.Now()
	var peers []raft.Peer
	group, voters, there := "", 0, 1
	for _, s := range all {
		p, known := parseAddress(s.Address)
		if known != "" {
			group = known // a leader before this one has begun
		}
		if p.ID = string(s.ID); s.ID != r.self {
			peers = append(peers, p)
		}
		if s.Suffrage == hraft.Voter {
			voters++
		}
	}
	y := r.of.options.Identity
	var named []raft.Peer
	for _, h := range r.of.ask(ctx, peers) {
		switch {
		case errors.Is(h.err, errOlder):
			return
		case h.err != nil || h.ID != h.peer.ID || h.Empty || h.Charter != y.charter.said():
			continue
		}
		h.peer.Incarnation = h.Incarnation
		named = append(named, h.peer)
		if s, is := r.find(h.ID); is && s.Suffrage == hraft.Voter {
			there++
		}
	}
	if there <= voters/2 {
		return
	}
	if group == "" {
		group = newID()
	}
	self, _ := raft.Find(r.of.Status().Peers, string(r.self))
	self.Incarnation = y.incarnation
	if r.rename(append(named, self), group) {
		r.of.options.Log.Info("raft: the group has an id from now on", "group", group, "named", len(named)+1, "members", len(all))
	}
}

// rename writes the incarnations of members into the configuration, and the id of the group.
func (r *running) rename(all []raft.Peer, group string) bool {
	for _, p := range all {
		s, is := r.find(p.ID)
		if !is || s.Address == configured(p, group) {
			continue
		}
		change := r.raft.AddVoter
		if s.Suffrage != hraft.Voter {
			change = r.raft.AddNonvoter
		}
		if r.await(change(s.ID, configured(p, group), 0, patience))() != nil {
			return false
		}
	}
	return true
}

// nameRest records the incarnations of members that were away when the group got its id, and have come back
// with their data. After a restore it does so of all.
func (r *running) nameRest(ctx context.Context, all []hraft.Server) {
	var peers []raft.Peer
	for _, s := range all {
		p := peerOf(s.ID, s.Address)
		if p.Incarnation == "" && s.ID == r.self {
			p.Incarnation = r.of.options.Identity.incarnation
			r.rename([]raft.Peer{p}, r.of.options.Identity.Group())
			return
		}
		if p.Incarnation == "" && time.Since(r.ackTransport.seenOf(s.Address).at) <= silentFor {
			peers = append(peers, p)
		}
	}
	if len(peers) == 0 || time.Since(r.asked) < silentFor {
		return
	}
	r.asked = time.Now()
	y := r.of.options.Identity
	for _, h := range r.of.ask(ctx, peers) {
		if h.err == nil && h.ID == h.peer.ID && !h.Empty && h.Group == y.Group() {
			h.peer.Incarnation = h.Incarnation
			r.rename([]raft.Peer{h.peer}, y.Group())
		}
	}
}
