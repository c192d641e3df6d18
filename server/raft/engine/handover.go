package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	hraft "github.com/hashicorp/raft"
)

// left returns for how long no transfer may be tried in a term.
func (h *handing) left(term uint64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed.IsZero() || h.term != term {
		return 0
	}
	return max(0, sendTimeout-time.Since(h.failed))
}

// fail records that a transfer failed.
func (h *handing) fail(term uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed, h.term = time.Now(), term
}

// Transfer implements raft.Engine.
func (e *Engine) Transfer(id string) error {
	r, err := e.now()
	if err != nil {
		return err
	}
	term := r.raft.CurrentTerm()
	if left := r.handing.left(term); left > 0 {
		return errHandedOnInVain(left)
	}
	var f hraft.Future
	if id == "" {
		f = r.raft.LeadershipTransfer()
	} else {
		s, err := r.voter(id)
		if err != nil {
			return err
		}
		f = r.raft.LeadershipTransferToServer(s.ID, s.Address)
	}
	if err = r.await(f)(); err != nil {
		r.handing.fail(term)
		if id != "" {
			return fmt.Errorf("%s did not take the lead: it has to answer, and to get the entries that it lacks: %w", id, err)
		}
	}
	return err
}

// Successor implements raft.Engine. A member that has answered a question of this moment, and has what is
// committed by now, leads after one election without delays. Otherwise clients would wait for a member that
// is dead, or until it has caught up.
func (e *Engine) Successor(id string) (string, error) {
	r, err := e.now()
	if err != nil {
		return "", err
	}
	if left := r.handing.left(r.raft.CurrentTerm()); left > 0 {
		return "", errHandedOnInVain(left)
	}
	if id != "" {
		if _, err := r.voter(id); err != nil {
			return "", err
		}
	}
	begun, commit := time.Now(), r.raft.CommitIndex()
	for {
		changed, waited := r.ackTransport.answers(), time.Since(begun)
		voters := r.voters(id)
		next, heard := r.successor(voters, begun, commit)
		switch {
		case next != "":
			return next, nil
		case r.raft.State() != hraft.Leader:
			return "", hraft.ErrNotLeader
		case len(voters) == 0:
			return "", errNoVoter
		case !heard && waited > answersWithin:
			return "", fmt.Errorf("%s does not answer: this member keeps the lead", cmp.Or(id, "another voter"))
		case waited > patience:
			return "", fmt.Errorf("%s lacks entries, and did not catch up in %v: this member keeps the lead", cmp.Or(id, "every other voter"), patience)
		}
		select {
		case <-changed:
		case <-time.After(successorEvery): // answers to a stream of entries are not announced
		case <-r.ended:
			return "", hraft.ErrRaftShutdown
		}
	}
}

const (
	// successorEvery is how often Successor looks at the members.
	successorEvery = 10 * time.Millisecond
	// answersWithin is how long a member may take to answer that is to take over the lead.
	answersWithin = 3 * time.Second
)

// errNoVoter is returned by the only voter of a group.
var errNoVoter = errors.New("the group has no other voter: this member keeps the lead")

// voters are the other members that can lead, or the one of them that has an id.
func (r *running) voters(id string) []hraft.Server {
	return slices.DeleteFunc(slices.Clone(r.members()), func(s hraft.Server) bool {
		return s.ID == r.self || s.Suffrage != hraft.Voter || id != "" && string(s.ID) != id
	})
}

// successor returns the id of a voter that has answered since a time, and has the log up to an index;
// empty: no voter has. heard reports whether a voter has answered.
func (r *running) successor(voters []hraft.Server, since time.Time, index uint64) (next string, heard bool) {
	for _, s := range voters {
		seen := r.ackTransport.seenOf(s.Address)
		if !seen.at.After(since) {
			continue
		}
		if heard = true; seen.matched >= index {
			return string(s.ID), true
		}
	}
	return "", heard
}

// voter finds a member that can lead.
func (r *running) voter(id string) (s hraft.Server, err error) {
	s, ok := r.find(id)
	switch {
	case !ok:
		err = fmt.Errorf("no member is called %s", id)
	case s.Suffrage != hraft.Voter:
		err = fmt.Errorf("%s is a learner, which has no vote before it has caught up", id)
	}
	return s, err
}

// errHandedOnInVain says that a transfer has failed, and after what time the next one may be tried.
func errHandedOnInVain(left time.Duration) error {
	return fmt.Errorf("the lead was handed on in vain a moment ago: try again in %v", left.Round(time.Second)+time.Second)
}
