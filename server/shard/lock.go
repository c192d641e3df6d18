package shard

import (
	"sync"
	"sync/atomic"
)

// Lock lets one goroutine at a time touch the data, and none while a busy script is in the middle of its
// unit.
type Lock struct {
	Mu   AwaitedMutex
	Busy Busy
}

// What happens around a busy script, one that runs for longer than busy-reply-threshold. It lets others have
// the lock for a moment now and then. They find the shard busy: nothing that touches the data
// may happen, for the script is in the middle of it. Clients get -BUSY, but for the few commands that are
// marked AllowBusy; all others that want the lock wait in LockIdle until the script is over; and
// what an ended connection leaves to be done is put off.

// Busy says whether a script is busy, and what waits for its end. It is only touched under the lock.
type Busy struct {
	On    bool
	Over  *sync.Cond // signalled when the script is over
	Later []func()   // what is put off until then
}

// LockIdle takes the lock at a moment when no script is in the middle of its work.
func (l *Lock) LockIdle() {
	l.Mu.Lock()
	l.AwaitIdle()
}

// AwaitIdle is lockIdle for who has the lock.
func (l *Lock) AwaitIdle() {
	for l.Busy.On {
		l.Busy.Over.Wait()
	}
}

// WithoutLock lets go of the lock while f runs.
func (l *Lock) WithoutLock(f func()) {
	l.Mu.Unlock()
	defer l.Mu.Lock()
	f()
}

// AwaitedMutex is a mutex that knows whether others wait for it. Work that goes on for long in slices then
// rests for a moment. The zero value is unlocked.
type AwaitedMutex struct {
	mu      sync.Mutex
	waiting atomic.Int32
}

// Lock implements sync.Locker.
func (m *AwaitedMutex) Lock() {
	if m.TryLock() {
		return
	}
	m.waiting.Add(1)
	m.mu.Lock()
	m.waiting.Add(-1)
}

// TryLock locks it if it is free, and reports whether it did.
func (m *AwaitedMutex) TryLock() bool { return m.mu.TryLock() }

// Unlock implements sync.Locker.
func (m *AwaitedMutex) Unlock() { m.mu.Unlock() }

// Awaited reports whether others wait for it.
func (m *AwaitedMutex) Awaited() bool { return m.waiting.Load() > 0 }
