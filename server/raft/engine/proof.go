package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
)

// The library's own proof that a member leads (Raft.VerifyLeader) counts all answers that come in after the
// question. One of them may have been given long before: it was slow, or this process was stopped while it
// was in its sockets. Its sender may have chosen another leader since, which has written something that a
// read here does not see. So an ackTransport looks at requests and answers. Only answers to requests that
// were sent after the question count.

// ackTransport is a transport that remembers which members have said that this member leads, and after which
// question.
type ackTransport struct {
	hraft.Transport
	hraft.WithPreVote
	pipelines pipelines
	requests  chan hraft.RPC // of the others, for the library: see receive

	mu sync.Mutex
	// asked is how many requests were sent, and questions put; said the number of the newest request that
	// each member has answered by that this one leads, in a term.
	asked uint64
	term  uint64
	said  map[hraft.ServerID]uint64
	// answered is the number of the newest request that each member has answered, with whatever.
	answered   map[hraft.ServerID]uint64
	changed    chan struct{} // closed and made anew when said or answered changes
	seen       map[hraft.ServerAddress]seen
	interrupts *interrupts  // ends what waits for a member that is away
	standing   func() error // why this member does not stand for election
	handedOnAt atomic.Int64 // see handsOn, in nanoseconds since 1970; 0: never
	times      *times       // of the engine; nil: nothing is counted
}

var (
	_ hraft.WithPreVote = (*ackTransport)(nil)
	_ hraft.WithClose   = (*ackTransport)(nil)
)

var errNoPreVote = errors.New("the transport knows no pre-vote")

func newAckTransport(t hraft.Transport, over *interrupts) (*ackTransport, error) {
	p, ok := t.(hraft.WithPreVote)
	if !ok {
		return nil, errNoPreVote
	}
	return &ackTransport{Transport: t, WithPreVote: p, requests: make(chan hraft.RPC), said: make(map[hraft.ServerID]uint64),
		answered: make(map[hraft.ServerID]uint64), changed: make(chan struct{}), seen: make(map[hraft.ServerAddress]seen), interrupts: over,
		standing: func() error { return nil }}, nil
}

// seen is what a member has shown: when it answered last, and up to which entry it has this member's log.
type seen struct {
	at      time.Time
	matched uint64
}

// see remembers what the answer to a request shows.
func (w *ackTransport) see(at hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[at]
	s.at = time.Now()
	if a.Success {
		s.matched = max(s.matched, q.PrevLogEntry+uint64(len(q.Entries)))
	}
	w.seen[at] = s
}

// hasAnswered reports whether a member has answered a request that was sent after a question.
func (w *ackTransport) hasAnswered(id hraft.ServerID, question uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered[id] > question
}

// seenOf is what the member at an address has shown since the engine was opened.
func (w *ackTransport) seenOf(at hraft.ServerAddress) seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[at]
}

// answers is closed when a member has answered a request, unless that was one of a pipeline.
func (w *ackTransport) answers() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// Close implements hraft.WithClose.
func (w *ackTransport) Close() error { return closeTransport(w.Transport) }

// AppendEntriesPipeline implements hraft.Transport.
func (w *ackTransport) AppendEntriesPipeline(id hraft.ServerID, at hraft.ServerAddress) (hraft.AppendPipeline, error) {
	p, err := w.Transport.AppendEntriesPipeline(id, at)
	if err != nil {
		return nil, err
	}
	return w.pipelines.keep(p, func(f hraft.AppendFuture) { w.see(at, f.Request(), f.Response()) })
}

// RequestVote implements hraft.Transport.
func (w *ackTransport) RequestVote(id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestVoteRequest, a *hraft.RequestVoteResponse) error {
	if err := w.standing(); err != nil {
		return err
	}
	return w.Transport.RequestVote(id, to, q, a)
}

// RequestPreVote implements hraft.WithPreVote.
func (w *ackTransport) RequestPreVote(id hraft.ServerID, to hraft.ServerAddress, q *hraft.RequestPreVoteRequest, a *hraft.RequestPreVoteResponse) error {
	if err := w.standing(); err != nil {
		return err
	}
	return w.WithPreVote.RequestPreVote(id, to, q, a)
}

// hangUp breaks off what is under way, for good.
func (w *ackTransport) hangUp() {
	w.pipelines.breakOff(true)
	if t, ok := w.Transport.(hangingUp); ok {
		t.hangUp()
	}
}

// AppendEntries implements hraft.Transport: all heartbeats are among these requests.
func (w *ackTransport) AppendEntries(id hraft.ServerID, to hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse) error {
	if err := sendable(q); err != nil {
		return err
	}
	lapsed, number := w.interrupts.next(), w.ask()
	err := w.send(id, to, q, a, number)
	if err != nil && !isHeartbeat(q) && w.answeredSince(id, number, lapsed) {
		*a = hraft.AppendEntriesResponse{}
		err = w.send(id, to, q, a, w.ask())
	}
	return err
}

// send sends a request that has a number, and records the answer.
func (w *ackTransport) send(id hraft.ServerID, to hraft.ServerAddress, q *hraft.AppendEntriesRequest, a *hraft.AppendEntriesResponse, number uint64) error {
	begun := time.Now()
	err := w.Transport.AppendEntries(id, to, q, a)
	if err == nil {
		if at := time.Now(); w.times != nil && isHeartbeat(q) {
			w.times.trip(id, at.Sub(begun), at)
		}
		w.record(id, q.Term, a.Term, number)
		w.see(to, q, a)
	}
	return err
}

// ask is the number of a request, or of a question.
func (w *ackTransport) ask() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	return w.asked
}

// record remembers an answer to a request of a term. It says that this member leads unless it is of another
// term.
func (w *ackTransport) record(id hraft.ServerID, asked, term, number uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered[id] = max(w.answered[id], number)
	if asked > w.term {
		w.term = asked
		clear(w.said)
	}
	if asked == w.term && term == asked { // otherwise it knows of a newer one
		w.said[id] = max(w.said[id], number)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// proves reports whether a majority has said that this member leads in a term, after a question. changed is
// closed when a member has given another answer.
func (w *ackTransport) proves(self hraft.ServerID, all []hraft.Server, term, question uint64) (is bool, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	voters, said := 0, 0
	for _, m := range all {
		if m.Suffrage != hraft.Voter {
			continue
		}
		voters++
		if m.ID == self || w.term == term && w.said[m.ID] > question {
			said++
		}
	}
	return said > voters/2, w.changed
}

// interrupts tells that a member was taken out of the group or this one leads no more, or that the engine
// ends. Make it with newInterrupts.
type interrupts struct {
	mu    sync.Mutex
	over  chan struct{} // closed when it happens
	ended bool
}

func newInterrupts() *interrupts { return &interrupts{over: make(chan struct{})} }

// next is closed by what happens next.
func (p *interrupts) next() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// tell says that a member has gone, or that this one does not lead.
func (p *interrupts) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	close(p.over)
	p.over = make(chan struct{})
}

// end says that the engine ends.
func (p *interrupts) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	close(p.over)
}
