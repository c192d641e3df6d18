package server

import (
	"lockserver/commands"
	"lockserver/store"
)

// The store reports changed keys to waiters, to sessions that watch the key, and to trackers.

// observer is the executor as the store sees it.
type observer struct{ executor *executor }

var _ store.Observer = observer{}

// KeyChanged implements store.Observer.
func (o observer) KeyChanged(db int, key []byte) {
	o.keyChanged(db, key)
	if ex := o.executor; ex.Waits.Watchdog.Attached.InUse() {
		ex.Waits.Watchdog.Attached.Changed(db, key, ex.scripts.RunsFor)
	}
}

// HolderChanged implements store.Observer.
func (o observer) HolderChanged(db int, key, owner []byte) {
	o.keyChanged(db, key)
	if ex := o.executor; owner != nil && ex.Waits.Watchdog.Attached.InUse() {
		ex.Waits.Watchdog.Attached.ChangedFor(db, string(key), string(owner), ex.scripts.RunsFor)
	}
}

// keyChanged tells all but those that are attached to an owner.
func (o observer) keyChanged(db int, key []byte) {
	ex := o.executor
	if ex.Waits.Queues.Len() > 0 {
		o.wake(db, key)
	}
	if ex.watching.Len() > 0 {
		ex.watching.KeyChanged(db, key)
	}
	if ex.dump.Watches() {
		ex.dump.KeyChanged(db, key)
	}
	if ex.tracking.InUse() {
		ex.tracking.KeyChanged(key)
	}
}

// wake makes the queue of a key ready, if there is one, and that of the lock which the key belongs to.
func (o observer) wake(db int, key []byte) {
	queues := o.executor.Waits.Queues
	queues.Changed(db, key)
	if store.IsCompanion(key) {
		bare, whole := commands.LocksOf(key)
		for _, lock := range [][]byte{bare, whole} {
			if len(lock) > 0 {
				queues.Changed(db, lock)
			}
		}
	}
}

// KeyReady implements store.Observer.
func (o observer) KeyReady(db int, key []byte) { o.wake(db, key) }

// DatabaseChanged implements store.Observer.
func (o observer) DatabaseChanged(db int) {
	ex := o.executor
	ex.Waits.Queues.DatabaseChanged(db)
	ex.watching.DatabaseChanged(db)
	ex.dump.DatabaseChanged(db)
	if ex.tracking.InUse() {
		ex.tracking.Flushed()
	}
	ex.Waits.Watchdog.Attached.DatabaseChanged(db)
}

// observe makes the store report changed keys while there is a listener.
func (ex *executor) observe() {
	if ex.Waits.Queues.Len() > 0 || ex.watching.Len() > 0 || ex.dump.Watches() || ex.tracking.InUse() || ex.Waits.Watchdog.Attached.InUse() {
		ex.Store.SetObserver(observer{ex})
	} else {
		ex.Store.SetObserver(nil)
	}
}
