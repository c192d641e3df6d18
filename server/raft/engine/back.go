package engine

import (
	"time"

	hraft "github.com/hashicorp/raft"
)

// The library waits ever longer before it sends entries to a member again that it did not reach, up to ten
// seconds, and asks nobody whether that member is back. Its heartbeats, which go their own way, know it
// within half of the time of an election. So a request that has failed is held until the member has answered
// something else, and is sent once more: the library knows of no failure, and the member that is back hears
// at once what it has missed.

// heldFor is how long a request that has failed is held at most.
const heldFor = 30 * time.Second

// isHeartbeat reports whether a request is one of those that the library sends beside the entries.
func isHeartbeat(q *hraft.AppendEntriesRequest) bool {
	return len(q.Entries) == 0 && q.PrevLogEntry == 0 && q.LeaderCommitIndex == 0
}

// answeredSince waits until a member has answered a request after one; false: it did not, and need not any
// longer, for lapsed is closed or the time is over.
func (w *witness) answeredSince(id hraft.ServerID, number uint64, lapsed <-chan struct{}) bool {
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
