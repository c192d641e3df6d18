package engine

import (
	"io"
	"time"

	hraft "github.com/hashicorp/raft"
)

// What a leader sends may be older than what this member has: it was under way for long, or the leader has
// counted down to where it thinks that both have the same. The library does not do with it what Raft says:
//   - It looks in the log for entries that are in the snapshot, and refuses what it does not find.
//   - It takes any snapshot that it gets, even one that is older than what it has acknowledged to others, and
//     throws that away. So a minority has what a majority had acknowledged.
//   - It takes all that its log has to be committed up to the leader's index. That includes entries that a
//     former leader has left there and that no request has shown to be the same. So it does what the group
//     has never done.
//
// This code runs before the library, and changes such requests to what they mean.

// receive passes the requests of others to the library until the engine is closed. members are those that
// this member knows.
func (w *ackTransport) receive(log *storage, members func() []hraft.Server, closed <-chan struct{}) {
	for {
		var q hraft.RPC
		select {
		case q = <-w.Transport.Consumer():
		case <-closed:
			return
		}
		switch c := q.Command.(type) {
		case *hraft.AppendEntriesRequest:
			q.Command = shown(log.trim(c))
		case *hraft.InstallSnapshotRequest:
			if log.has(c.LastLogIndex, c.LastLogTerm) {
				go decline(q, c)
				continue
			}
		case *hraft.TimeoutNowRequest:
			w.handedOnAt.Store(time.Now().UnixNano())
		case *hraft.RequestVoteRequest:
			if c.LeadershipTransfer {
				w.handedOnAt.Store(time.Now().UnixNano())
			}
			q.Command = believed(c, members())
		case *hraft.RequestPreVoteRequest:
			q.Command = believed(c, members())
		}
		select {
		case w.requests <- q:
		case <-closed:
			return
		}
	}
}

// handedOnFor is for how long a leader may be elected that another one hands the lead on to.
const handedOnFor = time.Second

// handsOn reports whether this member was asked a moment ago to stand for election, or for its vote, because
// a leader hands its lead on.
func (w *ackTransport) handsOn() bool {
	at := w.handedOnAt.Load()
	return at > 0 && time.Since(time.Unix(0, at)) < handedOnFor
}

// Consumer implements hraft.Transport.
func (w *ackTransport) Consumer() <-chan hraft.RPC { return w.requests }

// decline answers that a snapshot is here, which is so: all that it has, and more, is.
func decline(q hraft.RPC, c *hraft.InstallSnapshotRequest) {
	_, _ = io.Copy(io.Discard, q.Reader) // the next request is behind it
	q.Respond(&hraft.InstallSnapshotResponse{Term: c.Term, Success: true}, nil)
}

// has reports whether an entry is here, in the log or in a snapshot. So are all those before it.
func (a *storage) has(index, term uint64) bool {
	if s := a.newest(); s != nil && s.Index >= index {
		return true
	}
	var l hraft.Log
	return a.LogStore.GetLog(index, &l) == nil && l.Term == term
}

// newest is the newest snapshot; nil: there is none.
func (a *storage) newest() *hraft.SnapshotMeta {
	kept, err := a.List()
	if err != nil || len(kept) == 0 {
		return nil
	}
	return kept[0]
}

// trim takes the entries of the snapshot out of a request. They are committed, and the same everywhere. The
// rest of the request begins behind them.
func (a *storage) trim(q *hraft.AppendEntriesRequest) *hraft.AppendEntriesRequest {
	first, err := a.FirstIndex()
	if err != nil || q.PrevLogEntry == 0 && len(q.Entries) == 0 || first > 0 && q.PrevLogEntry+1 >= first {
		return q // it is about entries that the log has, or would
	}
	s := a.newest()
	if s == nil || q.PrevLogEntry >= s.Index {
		return q
	}
	t := *q
	t.PrevLogEntry, t.PrevLogTerm = s.Index, s.Term
	for len(t.Entries) > 0 && t.Entries[0].Index <= s.Index {
		t.Entries = t.Entries[1:]
	}
	return &t
}

// shown limits the commit index of a request to the entries that it shows to be the same here and there.
// That is its last entry. A request without entries shows the entry before it.
func shown(q *hraft.AppendEntriesRequest) *hraft.AppendEntriesRequest {
	last := q.PrevLogEntry
	if n := len(q.Entries); n > 0 {
		last = q.Entries[n-1].Index
	}
	if q.LeaderCommitIndex <= last {
		return q
	}
	t := *q
	t.LeaderCommitIndex = last
	return &t
}
