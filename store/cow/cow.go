// Package cow is the clock by which the store's structures share memory with a snapshot that is being written
// out.
//
// Nothing is copied when a snapshot begins. Every piece of memory that can be shared (a dict's chunk, a
// container's header) carries the epoch at which it was made. A writer that meets a piece from before the
// latest cut clones the piece first. So the snapshot's goroutine reads memory that is never written, without
// a lock.
//
// The package owns that one comparison. It must not know what the pieces are. A structure takes part by
// stamping its allocations with Now and by asking Shared before it writes in place.
package cow

// Epoch is the copy-on-write clock of one store. The zero value is ready: no
// snapshot is active and nothing is shared. It is not safe for concurrent use:
// only the executor touches it, and a snapshot's goroutine never does.
type Epoch struct {
	now    uint64 // grows by one with every cut
	floor  uint64 // stamps below it are shared; 0 while no snapshot is active
	active int    // snapshots begun and not yet released
}

// Now returns the stamp for memory that is allocated or cloned at this moment.
func (e *Epoch) Now() uint64 { return e.now }

// Cut begins a snapshot: everything that exists now is shared until Release. The caller takes the views of
// the snapshot after Cut and before the next write.
func (e *Epoch) Cut() {
	e.now++
	e.floor = e.now
	e.active++
}

// Advance shares everything that exists now with the active snapshots. There must be at least one.
func (e *Epoch) Advance() {
	if e.active == 0 {
		panic("cow: Advance without Cut")
	}
	e.now++
	e.floor = e.now
}

// Release ends one snapshot; its views must not be read any more. While several snapshots are active, sharing
// continues up to the latest cut, until the last of them ends. Copying too much only costs time, and copying
// too little would corrupt data.
func (e *Epoch) Release() {
	if e.active == 0 {
		panic("cow: Release without Cut")
	}
	e.active--
	if e.active == 0 {
		e.floor = 0
	}
}

// Active returns how many snapshots have begun and are not yet released.
func (e *Epoch) Active() int { return e.active }

// Shared reports whether an active snapshot may read memory with this stamp. The memory must then be cloned
// before it is written.
func (e *Epoch) Shared(stamp uint64) bool { return stamp < e.floor }
