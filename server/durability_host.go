package server

import (
	"runtime"
	"time"

	"lockserver/persistence"
	"lockserver/server/durability"
	"lockserver/server/replication"
	"lockserver/store"
)

// This file is durability.Executor, the whole of it: what the log and snapshots ask of the server.

// durabilityHost is the executor as what is kept on disk sees it.
type durabilityHost struct{ executor *executor }

var _ durability.Executor = durabilityHost{}

// Do implements durability.Executor.
func (h durabilityHost) Do(f func()) { h.executor.do(f) }

// Background implements durability.Executor.
func (h durabilityHost) Background(f func()) { h.executor.host.background(f) }

// HandOn implements durability.Executor.
func (h durabilityHost) HandOn() { h.executor.handOn() }

// Rest implements durability.Executor.
func (h durabilityHost) Rest(d time.Duration) error {
	return h.Wait(func() {
		if d > 0 {
			time.Sleep(d)
		} else {
			runtime.Gosched()
		}
	})
}

// Wait implements durability.Executor.
func (h durabilityHost) Wait(f func()) error {
	h.executor.withoutLock(f)
	if h.executor.ending {
		return errClosed
	}
	return nil
}

// Synced implements durability.Executor.
func (h durabilityHost) Synced() {
	if h.executor.waits.Syncing.Count.Load() > 0 {
		go h.executor.do(h.executor.waits.AnswerWaits)
	}
}

// LogClosed implements durability.Executor.
func (h durabilityHost) LogClosed() {
	for w := range h.executor.waits.Syncing.Waiters {
		h.executor.waits.TimeOut(w)
	}
}

// Placed implements durability.Executor.
func (h durabilityHost) Placed(at persistence.History, overdue []store.Effect) {
	h.executor.replication.Resume(replication.Place(at))
	for i := range overdue { // a replica's own does nothing: its snapshot was loaded with all that was in it
		h.executor.replication.Append(overdue[i : i+1])
	}
}

// NewReplayer implements durability.Executor.
func (h durabilityHost) NewReplayer() durability.Replayer { return h.executor.newReplayer() }

// Libraries implements durability.Executor.
func (h durabilityHost) Libraries() [][]byte { return h.executor.scripts.Libraries() }

// LoadLibraries implements durability.Executor.
func (h durabilityHost) LoadLibraries(code [][]byte, replace bool) error {
	return h.executor.scripts.LoadLibraries(code, replace)
}

// ReplaceLibraries implements durability.Executor.
func (h durabilityHost) ReplaceLibraries(code [][]byte) error {
	return h.executor.scripts.ReplaceLibraries(code)
}

// AwaitIdle implements durability.Executor.
func (h durabilityHost) AwaitIdle() { h.executor.awaitIdle() }

// DropLibraries implements durability.Executor.
func (h durabilityHost) DropLibraries() { h.executor.scripts.DropLibraries() }
