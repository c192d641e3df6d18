package engine

import (
	"errors"
	"fmt"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// handing is the state of leadership transfers. The library asks the goroutine that sends entries to the next
// leader to do the transfer. The question goes into a buffer of one, and is not taken back when it was not
// answered. The library may ask again before that goroutine has looked, and leadership may be lost meanwhile.
// Then it waits for ever, and believes until the engine is closed that the transfer is under way. So a member
// that did not answer is asked again only when that goroutine must have looked.
type handing struct {
	mu     sync.Mutex
	failed time.Time
	term   uint64 // in which that was
}

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
		return fmt.Errorf("the lead was handed on in vain a moment ago: try again in %v", left.Round(time.Second)+time.Second)
	}
	var f hraft.Future
	if id == "" {
		f = r.raft.LeadershipTransfer()
	} else {
		s, ok := r.find(id)
		switch {
		case !ok:
			return fmt.Errorf("no member is called %s", id)
		case s.Suffrage != hraft.Voter:
			return fmt.Errorf("%s is a learner, which has no vote before it has caught up", id)
		}
		f = r.raft.LeadershipTransferToServer(s.ID, s.Address)
	}
	err = r.await(f)()
	if errors.Is(err, hraft.ErrRaftShutdown) && e.isRebuilt(r) {
		return nil // an entry that was refused during the transfer made this member give up the lead by itself
	}
	if err != nil {
		r.handing.fail(term)
		if id != "" {
			return fmt.Errorf("%s did not take the lead: it has to answer, and to get the entries that it lacks: %w", id, err)
		}
	}
	return err
}

// rebuildTimeout is how long isRebuilt waits.
const rebuildTimeout = time.Second

// isRebuilt reports whether another running takes the place of one that has ended, which takes a moment. If
// the engine was closed for good, none does.
func (e *Engine) isRebuilt(r *running) bool {
	for end := time.Now().Add(rebuildTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if next, err := e.now(); err == nil {
			return next != r
		}
	}
	return false
}
