package background

import (
	"sync"
	"sync/atomic"
)

// Mutex is a mutex that knows whether others wait for it. Work that goes on for long in slices then rests for
// a moment. The zero value is unlocked.
type Mutex struct {
	mu      sync.Mutex
	waiting atomic.Int32
}

// Lock implements sync.Locker.
func (m *Mutex) Lock() {
	if m.TryLock() {
		return
	}
	m.waiting.Add(1)
	m.mu.Lock()
	m.waiting.Add(-1)
}

// TryLock locks it if it is free, and reports whether it did.
func (m *Mutex) TryLock() bool { return m.mu.TryLock() }

// Unlock implements sync.Locker.
func (m *Mutex) Unlock() { m.mu.Unlock() }

// Awaited reports whether others wait for it.
func (m *Mutex) Awaited() bool { return m.waiting.Load() > 0 }
