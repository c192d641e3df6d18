package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// Errors of changes of the group.
var (
	errNoGroupID = errors.New("the group has no id yet: its leader makes one when a majority of the members is there with its data, and none of them is of an older version")
	errIsLeader  = errors.New("this member leads, and is reached where it is: to move it have another lead (RAFT TRANSFER), stop it, start it there, and add it there")
)

// reachable reports whether a member has answered a moment ago.
func (r *running) reachable(s hraft.Server) bool {
	return s.ID == r.self || time.Since(r.ackTransport.seenOf(s.Address).at) <= r.reachableFor()
}

// reachableFor is within which time a member answers that can be reached.
func (r *running) reachableFor() time.Duration {
	return max(silentFor, 2*time.Duration(r.of.options.ElectionMS)*time.Millisecond)
}

// unacceptable is the reason why a server cannot be made a member, judged by its answer.
func (r *running) unacceptable(h *Hello) error {
	ours := r.of.options.Identity.Group()
	switch {
	case h.Group != "" && h.Group != ours:
		return otherGroup(h.Group, ours)
	case h.Group == "" && !h.Empty:
		return errors.New("it has the data of a group without an id: a server that is to be a member needs an empty directory raft")
	case h.Group == "" && !h.expects(r.of.Status().Peers):
		return errors.New("its raft-members have no member of this group: it waits to form another group. Take raft-members out of its configuration, and start it again")
	}
	return nil
}

// Add implements raft.Engine. The server is a learner first: it counts for no majority before it has
// caught up.
func (e *Engine) Add(p raft.Peer) error {
	r, err := e.now()
	if err != nil {
		return err
	}
	if e.options.Identity.Group() == "" {
		return errNoGroupID
	}
	known, is := r.find(p.ID)
	switch at := peerOf(known.ID, known.Address); {
	case is && at.Raft == p.Raft && at.Client == p.Client:
		return r.awaitVoter(p.ID)
	case is && known.ID == r.self:
		return errIsLeader
	case is && at.Raft != p.Raft && r.reachable(known): // another address for clients does not move it
		return fmt.Errorf("member '%s' is there already, and answers at %s (clients at %s): to move it stop it, start it at its new address, and add it there", p.ID, at.Raft, at.Client)
	}
	h, err := e.check(r, p)
	// plant:add-check
	if err != nil {
		return err
	}
	same := peerOf(known.ID, known.Address).Incarnation == h.Incarnation
	p.Incarnation = h.Incarnation
	if is && same && known.Suffrage == hraft.Voter {
		return r.await(r.raft.AddVoter(known.ID, configured(p, e.options.Identity.Group()), 0, patience))()
	}
	if err := r.replace(p); err != nil {
		return err
	}
	return r.awaitVoter(p.ID)
}

// check asks the server that is to be a member for its identity, and says why it cannot be one.
func (e *Engine) check(r *running, p raft.Peer) (h Hello, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*askFor)
	defer cancel()
	if h, err = e.hello(ctx, p.Raft); err != nil {
		return h, fmt.Errorf("the raft address %s: %w", p.Raft, err)
	}
	if h.ID != p.ID {
		return h, fmt.Errorf("the raft address %s: a server with the raft-id '%s' answers there", p.Raft, h.ID)
	}
	if h.Version != e.options.Version {
		return h, fmt.Errorf("the raft address %s: it runs version %s, and this member %s: install that one there", p.Raft, said(h.Version), said(e.options.Version))
	}
	if err := r.unacceptable(&h); err != nil {
		return h, fmt.Errorf("the raft address %s: %w", p.Raft, err)
	}
	if e.options.ReachClient != nil {
		if err := e.options.ReachClient(ctx, p.Client); err != nil {
			return h, fmt.Errorf("the client address %s: %w", p.Client, err)
		}
	}
	return h, nil
}

// find returns the member with an id.
func (r *running) find(id string) (hraft.Server, bool) {
	for _, s := range r.members() {
		if string(s.ID) == id {
			return s, true
		}
	}
	return hraft.Server{}, false
}

// awaitVoter waits until a learner is a voter, for as long as a client can be expected to. It becomes one
// later, too.
func (r *running) awaitVoter(id string) error {
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(tendEvery / 4) {
		s, is := r.find(id)
		if is && s.Suffrage == hraft.Voter {
			return nil
		}
		if r.raft.State() != hraft.Leader {
			return hraft.ErrLeadershipLost
		}
		select {
		case <-r.ended:
			return hraft.ErrRaftShutdown
		default:
		}
	}
	return nil
}

// Remove implements raft.Engine. It is refused if those that are left were too few to go on.
func (e *Engine) Remove(id string) error {
	r, err := e.now()
	if err != nil {
		return err
	}
	begun, late, question := time.Now(), r.reachableFor(), r.ackTransport.ask()
	for {
		voters, away := r.left(id, question)
		// plant:remove-check
		if voters-len(away) > voters/2 || voters == 0 {
			break
		}
		if time.Since(begun) > late {
			return fmt.Errorf("of the %d voters that would be left %d can be reached (not: %s): the group would have no leader any more. "+
				"Start those, or remove them first", voters, voters-len(away), strings.Join(away, " "))
		}
		select {
		case <-r.ended:
			return hraft.ErrRaftShutdown
		case <-time.After(askAgain):
		}
	}
	return r.await(r.raft.RemoveServer(hraft.ServerID(id), 0, patience))()
}

// askAgain is how often it is looked whether enough members have answered.
const askAgain = 10 * time.Millisecond

// left are the voters without one, and those of them that have answered no request that was sent after a
// question.
func (r *running) left(without string, question uint64) (voters int, away []string) {
	for _, s := range r.members() {
		if s.Suffrage != hraft.Voter || string(s.ID) == without {
			continue
		}
		voters++
		if s.ID != r.self && !r.ackTransport.hasAnswered(s.ID, question) {
			away = append(away, string(s.ID))
		}
	}
	return voters, away
}
