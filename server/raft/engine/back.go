package engine

import (
	"time"

	hraft "github.com/hashicorp/raft"
)

// When a member was not reached, the library waits ever longer before it sends it entries again, up to ten
// seconds. It does not look whether that member is back. Its heartbeats, which are sent separately, know it
// within half of an election timeout. So a request that has failed is held until the member has answered
// another one, and is sent once more. The library sees no failure, and the member that is back gets at once
// what it has missed.

// heldFor is how long a request that has failed is held at most.
const heldFor = 30 * time.Second

// isHeartbeat reports whether a request is one of those that the library sends beside the entries.
func isHeartbeat(q *hraft.AppendEntriesRequest) bool {
	return len(q.Entries) == 0 && q.PrevLogEntry == 0 && q.LeaderCommitIndex == 0
}

// answeredSince waits until a member has answered a request after one; false: it did not, and need not any
// longer, for lapsed is closed or the time is over.
func (w *ackTransport) answeredSince(id hraft.ServerID, number uint64, lapsed <-chan struct{}) bool {
	over := time.NewTimer(heldFor)
	defer over.Stop()
	for {
		w.mu.Lock()
		is, changed := w.answered[id] > number, w.changed
		w.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-changed:
		case <-lapsed:
			return false
		case <-over.C:
			return false
		}
	}
}
