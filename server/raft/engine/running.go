package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
)

// running is an engine between Open and Close.
type running struct {
	of           *Engine
	raft         *hraft.Raft
	self         hraft.ServerID
	ackTransport *ackTransport
	// leads is the term in which this member leads and the machine knows it; 0: the machine does not lead.
	leads      atomic.Uint64
	notify     chan bool
	lost       chan struct{} // the log has to be opened anew
	ended      chan struct{}
	watching   sync.WaitGroup
	handing    handing
	interrupts *interrupts
	waiting    waitingFor
	fsm        *fsm
	entries    hraft.LogStore
	startedMS  int64 // when the engine was made, in milliseconds since 1970
	surveying  surveying
	clients    clientAddresses
	removed    atomic.Bool // the leader says that this is no member any more
	started    atomic.Bool // the library has read what it goes on from
	// logFault and stableFault are why the stores cannot be written to.
	logFault, stableFault fault
	// mark and asked are tend's: what it found the last time, and when it asked silent members.
	mark  mark
	asked time.Time
}

// members returns the members of the group, as far as this one knows.
func (r *running) members() []hraft.Server {
	f := r.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}

// distrust has the engine closed, because the disk was found to be damaged. Nothing of it is applied or sent
// any more. The member stops, and the next start moves the files away. It reports whether the library runs.
func (r *running) distrust(d *Damage) bool {
	e := r.of
	if e.bad.CompareAndSwap(nil, d) {
		var err error
		if e.options.distrust != nil {
			err = e.options.distrust(d)
		}
		e.options.Log.Error("raft: a file of this member is damaged that was whole at the start: this member stops, and its next start moves its files away. "+
			"See 'A damaged disk' in docs/HA.md", "cause", errors.Join(d, err))
	}
	select {
	case r.lost <- struct{}{}:
	default: // it is known already
	}
	return r.started.Load()
}

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

// mark is the committed index at the leader's last look.
type mark struct{ term, index uint64 }

// await returns a function that waits for the library's answer. When the engine is closed before, the answer
// is hraft.ErrRaftShutdown.
//
// The library forgets to answer when it ends. Its machine's goroutine stops without looking at entries that
// are committed and not yet applied. A caller that waits for one would wait for ever. The library's futures
// can wait for the end, too, by the channel ShutdownCh. The library sets it in some of them, but not in those
// of entries. So this function sets it, before the wait. (A goroutine for each future was tried before. It
// costs one goroutine for each entry, and those of forgotten futures stay and add up with each rebuilding.)
func (r *running) await(f hraft.Future) (wait func() error) { return awaitUntil(f, r.ended) }

// waitingFor is the reason of a server without a group to wait.
type waitingFor struct {
	mu    sync.Mutex
	text  string
	grave bool
	said  time.Time
}

// is returns the reason.
func (w *waitingFor) is() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text
}
