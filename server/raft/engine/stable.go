package engine

import (
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"
)

// retrying is a store on a disk that may be full or broken for a while. The library panics when it cannot
// store a term, and so a group would lose a member for each full disk. This store tries again until it can.
// The other members get nothing meanwhile, as if the process were stopped. When the engine is closed the
// goroutine that waits ends, because going on would mean to forget what was said.
type retrying struct {
	hraft.StableStore
	log    *slog.Logger
	closed <-chan struct{}
	fault  *fault // nil: it is not recorded
}

// stored returns a value, or nil for a missing one. The library's store in memory returns an error for a
// missing value.
func stored(in hraft.StableStore, key []byte) ([]byte, error) {
	is, err := in.Get(key)
	if err != nil && err.Error() == "not found" {
		err = nil
	}
	return is, err
}

// fault is why a store cannot be written to.
type fault struct{ cause atomic.Pointer[string] }

// set records the cause; nil: there is no fault.
func (f *fault) set(err error) {
	switch {
	case f == nil:
	case err == nil:
		f.cause.Store(nil)
	default:
		text := err.Error()
		f.cause.Store(&text)
	}
}

// is returns the cause; empty: there is no fault.
func (f *fault) is() string {
	if text := f.cause.Load(); text != nil {
		return *text
	}
	return ""
}

// retryEvery is how soon a write that has failed is tried again.
const retryEvery = 200 * time.Millisecond

// Set implements hraft.StableStore.
func (p *retrying) Set(key, val []byte) error {
	p.insist(func() error { return p.StableStore.Set(key, val) })
	return nil
}

// SetUint64 implements hraft.StableStore. A value that is there already is not written: the library does that
// when it starts, where nothing could end the wait.
func (p *retrying) SetUint64(key []byte, val uint64) error {
	if is, err := p.GetUint64(key); err == nil && is == val {
		return nil
	}
	p.insist(func() error { return p.StableStore.SetUint64(key, val) })
	return nil
}

// insist does a write until it is done.
func (p *retrying) insist(write func() error) {
	failed := false
	for err := write(); err != nil; err = write() {
		p.fault.set(err)
		if !failed {
			failed = true
			p.log.Error("raft: this member cannot write to its directory, and takes no part until it can. Free space on the disk, or mend it; "+
				"it goes on by itself", "cause", err)
		}
		select {
		case <-time.After(retryEvery):
		case <-p.closed:
			runtime.Goexit()
		}
	}
	if failed {
		p.fault.set(nil)
		p.log.Info("raft: this member can write to its directory again")
	}
}

// reportingLog is a log store that says what to do when it cannot be written to. The library gives up what it
// was about to do, and tries again.
type reportingLog struct {
	hraft.LogStore
	log     *slog.Logger
	failing atomic.Bool
	fault   *fault // nil: it is not recorded
	// damaged is called when an entry is damaged; nil: nothing is. It reports whether the library runs.
	damaged func(*Damage) bool
}

// IsMonotonic implements hraft.MonotonicLogStore: it is as its store is.
func (t *reportingLog) IsMonotonic() bool {
	m, ok := t.LogStore.(hraft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// StoreLog implements hraft.LogStore.
func (t *reportingLog) StoreLog(l *hraft.Log) error { return t.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore.
func (t *reportingLog) StoreLogs(all []*hraft.Log) error {
	err := t.LogStore.StoreLogs(all)
	// plant:raft-store
	t.fault.set(err)
	switch failing := err != nil; {
	case failing == t.failing.Swap(failing):
	case failing:
		t.log.Error("raft: this member cannot write to its log, and acknowledges nothing. Free space on the disk, or mend it; it goes on by itself",
			"cause", err)
	default:
		t.log.Info("raft: this member can write to its log again")
	}
	return err
}

// damagedMark is in an entry that stands for a damaged one. It must not be sent to other members.
var damagedMark = []byte("damaged")

// GetLog implements hraft.LogStore. The library ends the process if it cannot read an entry that is to be
// applied. So it gets an entry without effect, and the engine is closed.
func (t *reportingLog) GetLog(index uint64, to *hraft.Log) error {
	err := t.LogStore.GetLog(index, to)
	var d *Damage
	if t.damaged != nil && errors.As(err, &d) && t.damaged(d) {
		*to = hraft.Log{Index: index, Type: hraft.LogNoop, Extensions: damagedMark}
		return nil
	}
	return err
}
