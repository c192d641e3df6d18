package server

import (
	"lockserver/commands"
	"lockserver/store"
)

// What the store tells of changed keys: to those who wait for one, who watch it, who keep a copy.

// KeyChanged implements store.Observer.
func (ex *executor) KeyChanged(db int, key []byte) {
	ex.keyChanged(db, key)
	if ex.watchdog.attached.InUse() {
		ex.watchdog.attached.Changed(db, key, ex.scripts.RunsFor)
	}
}

// HolderChanged implements store.Observer.
func (ex *executor) HolderChanged(db int, key, owner []byte) {
	ex.keyChanged(db, key)
	if owner != nil && ex.watchdog.attached.InUse() {
		ex.watchdog.attached.ChangedFor(db, string(key), string(owner), ex.scripts.RunsFor)
	}
}

// keyChanged tells all but those that are attached to an owner.
func (ex *executor) keyChanged(db int, key []byte) {
	if ex.queues.Len() > 0 {
		ex.wake(db, key)
	}
	if ex.watching.count > 0 {
		ex.watching.keyChanged(db, key)
	}
	if len(ex.moving) > 0 {
		ex.moving.keyChanged(db, key)
	}
	if ex.tracking.InUse() {
		ex.trackedKeyChanged(key)
	}
}

// wake makes the queue of a key ready, if there is one, and that of the lock which the key belongs to.
func (ex *executor) wake(db int, key []byte) {
	ex.queues.Changed(db, key)
	if store.IsCompanion(key) {
		bare, whole := commands.LocksOf(key)
		for _, lock := range [][]byte{bare, whole} {
			if len(lock) > 0 {
				ex.queues.Changed(db, lock)
			}
		}
	}
}

// KeyReady implements store.Observer.
func (ex *executor) KeyReady(db int, key []byte) { ex.wake(db, key) }

// DatabaseChanged implements store.Observer.
func (ex *executor) DatabaseChanged(db int) {
	ex.queues.DatabaseChanged(db)
	ex.watching.databaseChanged(db)
	ex.moving.databaseChanged(db)
	if ex.tracking.InUse() {
		ex.trackedFlushed()
	}
	ex.watchdog.attached.DatabaseChanged(db)
}

// observe makes the store report changed keys while there is a listener.
func (ex *executor) observe() {
	if ex.queues.Len() > 0 || ex.watching.count > 0 || len(ex.moving) > 0 || ex.tracking.InUse() || ex.watchdog.attached.InUse() {
		ex.store.SetObserver(ex)
	} else {
		ex.store.SetObserver(nil)
	}
}
