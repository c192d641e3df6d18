package engine

import (
	"fmt"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
)

// handing is what became of handing the lead on. The library asks the goroutine that sends entries to the
// next leader to do so, in a place that has room for one such question, and does not take back what was not
// answered. If it asks again before that goroutine has looked, and the lead is lost meanwhile, it waits for
// ever, and believes until the engine is closed that the lead is being handed on. So who was not answered is
// not asked again before that goroutine must have come by.
type handing struct {
	mu     sync.Mutex
	failed time.Time
	term   uint64 // in which that was
}

// left is how long nothing is handed on in a term yet.
func (h *handing) left(term uint64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed.IsZero() || h.term != term {
		return 0
	}
	return max(0, sendTimeout-time.Since(h.failed))
}

// fail notes that it was tried in vain.
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
	if err = r.await(f)(); err != nil {
		r.handing.fail(term)
	}
	return err
}
