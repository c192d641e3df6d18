package engine

import (
	"context"
	"errors"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// The leader tends its group: it makes learners voters when they have caught up, finds members whose disk is
// another than the group knows, and gives a group an id that was formed without one.
//
// A member whose disk is new is no voter any more before it is called: it is made a learner of the new
// incarnation first. Its old votes and acknowledgements count for nothing, since members that know the old
// incarnation alone are refused by it.

const (
	// tendEvery is how often a member looks after its group.
	tendEvery = 200 * time.Millisecond
	// silentFor is after how long without an answer a member is asked who it is.
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
}

// errOtherDisk is why a member does not stand for election that the group knows by another disk. What it has
// of the log may be from when that one was a voter.
var errOtherDisk = errors.New("the disk of this member is not the one that the group knows")

// stands is why this member does not stand for election; nil: it does.
func (r *running) stands() error {
	s, _ := r.find(string(r.self))
	if known := peerOf(s.ID, s.Address).Incarnation; known != "" && known != r.of.options.Identity.incarnation {
		return errOtherDisk
	}
	return nil
}

// mark is what was committed when the leader looked last.
type mark struct{ term, index uint64 }

// promote makes a learner a voter that has all that was committed a moment ago. It answers, so that the
// majority that there is then can be reached.
func (r *running) promote(all []hraft.Server) {
	before := r.mark
	r.mark = mark{r.raft.CurrentTerm(), r.raft.CommitIndex()}
	if before.term != r.mark.term {
		return
	}
	for _, s := range all {
		seen := r.witness.seenOf(s.Address)
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
		if s.ID != r.self && time.Since(r.witness.seenOf(s.Address).at) > silentFor {
			silent = append(silent, peerOf(s.ID, s.Address))
		}
	}
	if len(silent) == 0 || time.Since(r.asked) < silentFor {
		return
	}
	r.asked = time.Now()
	for _, h := range r.of.ask(ctx, silent) {
		if h.err != nil || h.ID != h.peer.ID || h.Incarnation == h.peer.Incarnation {
			continue
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

// name gives the group an id: an older version has formed it. All members have to be there, and be of this
// version: an older one does not know addresses with more than two parts.
func (r *running) name(ctx context.Context, all []hraft.Server) {
	if time.Since(r.asked) < silentFor {
		return
	}
	r.asked = time.Now()
	var peers []raft.Peer
	group := ""
	for _, s := range all {
		p, known := parseAddress(s.Address)
		if known != "" {
			group = known // a leader before this one has begun
		}
		p.ID = string(s.ID)
		if s.ID != r.self {
			peers = append(peers, p)
		}
	}
	y := r.of.options.Identity
	answers := r.of.ask(ctx, peers)
	for i := range answers {
		h := &answers[i]
		if h.err != nil || h.ID != h.peer.ID || h.Empty || h.Charter != y.charter.said() {
			return
		}
		h.peer.Incarnation = h.Incarnation
	}
	if group == "" {
		group = newID()
	}
	self, _ := raft.Find(r.of.Status().Peers, string(r.self))
	self.Incarnation = y.incarnation
	answers = append(answers, heardOf{peer: self})
	for _, h := range answers {
		if r.await(r.raft.AddVoter(hraft.ServerID(h.peer.ID), configured(h.peer, group), 0, patience))() != nil {
			return
		}
	}
	r.of.options.Log.Info("raft: the group has an id from now on", "group", group)
}
