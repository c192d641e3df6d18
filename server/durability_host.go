package server

import (
	"runtime"

	"lockserver/server/durability"
)

// durabilityHost is the executor as what is kept on disk sees it.
type durabilityHost struct{ executor *executor }

var _ durability.Host = durabilityHost{}

// Do implements durability.Host.
func (h durabilityHost) Do(f func()) { h.executor.do(f) }

// Background implements durability.Host.
func (h durabilityHost) Background(f func()) { h.executor.host.background(f) }

// HandOn implements durability.Host.
func (h durabilityHost) HandOn() { h.executor.handOn() }

// Rest implements durability.Host.
func (h durabilityHost) Rest() error {
	h.executor.withoutLock(runtime.Gosched)
	if h.executor.ending {
		return errClosed
	}
	return nil
}

// Synced implements durability.Host.
func (h durabilityHost) Synced() {
	if h.executor.syncing.count.Load() > 0 {
		go h.executor.do(h.executor.answerSynced)
	}
}

// LogClosed implements durability.Host.
func (h durabilityHost) LogClosed() {
	for w := range h.executor.syncing.waiters {
		h.executor.timeOut(w)
	}
}

// NewReplayer implements durability.Host.
func (h durabilityHost) NewReplayer() durability.Replayer { return h.executor.newReplayer() }

// Libraries implements durability.Host.
func (h durabilityHost) Libraries() [][]byte { return h.executor.scripts.Libraries() }

// LoadLibraries implements durability.Host.
func (h durabilityHost) LoadLibraries(code [][]byte) error {
	return h.executor.scripts.LoadLibraries(code)
}
