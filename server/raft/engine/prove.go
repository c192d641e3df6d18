package engine

import (
	"errors"
	"time"

	hraft "github.com/hashicorp/raft"
)

// proveEvery is how soon the others are asked again if too few have answered.
const proveEvery = 20 * time.Millisecond

// prove returns when a majority has said, after a question, that this member leads. The machine must know by
// then that it leads. prove returns an error when it turns out that this member does not lead.
func (r *running) prove(question uint64) error {
	for {
		if err := r.verify(); err != nil {
			return err
		}
		all, term := r.raft.GetConfiguration(), r.leads.Load()
		if err := all.Error(); err != nil {
			return err
		}
		if term == 0 || term != r.raft.CurrentTerm() {
			return hraft.ErrNotLeader
		}
		is, changed := r.ackTransport.proves(r.self, all.Configuration().Servers, term, question)
		if is {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(proveEvery):
		case <-r.ended:
			return hraft.ErrRaftShutdown
		}
	}
}

// verify asks the library whether this member leads. The library asks the others, and counts answers up to
// the majority of that moment. Answers never come from a member that is taken out of the group meanwhile, and
// if they were needed the library never answers. So a question is over when a member goes, and is asked
// again.
func (r *running) verify() error {
	for {
		over := r.interrupts.next()
		err := awaitUntil(r.raft.VerifyLeader(), over)()
		if !errors.Is(err, hraft.ErrRaftShutdown) || r.interrupts.next() == over { // it ends, for all
			return err
		}
	}
}

// learn remembers the term in which this member leads, when the member hears that it does. An election that
// it has not heard of yet proves nothing about what it has done before.
func (r *running) learn(on bool) {
	term := r.raft.CurrentTerm()
	if !on || r.raft.State() != hraft.Leader || r.raft.CurrentTerm() != term {
		term = 0
	}
	r.leads.Store(term)
}
