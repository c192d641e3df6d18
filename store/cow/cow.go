// Package cow is the clock by which the store's structures share memory with a
// snapshot that is being written out.
//
// Nothing is copied when a snapshot begins. Instead every piece of memory that can be shared (a dict's chunk,
// a container's header) carries the epoch at which it was made. A writer that meets a piece from before the
// latest cut clones it first. The snapshot's goroutine therefore reads memory that is never written, without
// a lock.
//
// The package owns that one comparison. It must not know what the pieces are.
// A structure takes part by stamping what it allocates with Now and by asking
// Shared before it writes in place.
package cow

// Epoch is the copy-on-write clock of one store. The zero value is ready: no
// snapshot is active and nothing is shared. It is not safe for concurrent use:
// only the executor touches it, and a snapshot's goroutine never does.
type Epoch struct {
	now    uint64 // grows by one with every cut
	floor  uint64 // stamps below it are shared; 0 while no snapshot is active
	active int    // snapshots begun and not yet released
}

// Now returns the stamp for whatever is made or cloned at this moment.
func (e *Epoch) Now() uint64 { return e.now }

// Cut begins a snapshot: everything that exists now is shared until Release.
// The views that make up the snapshot are to be taken after Cut and before the
// next write.
func (e *Epoch) Cut() {
	e.now++
	e.floor = e.now
	e.active++
}

// Advance makes shared what exists now, for the snapshots that are active. There must be one.
func (e *Epoch) Advance() {
	if e.active == 0 {
		panic("cow: Advance without Cut")
	}
	e.now++
	e.floor = e.now
}

// Release ends one snapshot; its views must not be read any more. While several
// are active sharing goes on, up to the latest cut, until the last one ends:
// that a view outlives its use costs copies, the reverse would cost data.
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

// Shared reports whether memory with this stamp may be read by an active
// snapshot and has to be cloned before it is written.
func (e *Epoch) Shared(stamp uint64) bool { return stamp < e.floor }
