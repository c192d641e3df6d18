package server

// What the store tells of changed keys: to those who wait for one, who watch it, who keep a copy.

// KeyChanged implements store.Observer.
func (ex *executor) KeyChanged(db int, key []byte) {
	if ex.parking.count > 0 {
		ex.parking.keyChanged(db, key)
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
	if ex.watchdog.attached.InUse() {
		ex.watchdog.attached.Changed(db, key, ex.scripts.RunsFor)
	}
}

// KeyReady implements store.Observer.
func (ex *executor) KeyReady(db int, key []byte) { ex.parking.keyChanged(db, key) }

// DatabaseChanged implements store.Observer.
func (ex *executor) DatabaseChanged(db int) {
	ex.parking.databaseChanged(db)
	ex.watching.databaseChanged(db)
	ex.moving.databaseChanged(db)
	if ex.tracking.InUse() {
		ex.trackedFlushed()
	}
	ex.watchdog.attached.DatabaseChanged(db)
}

// observe makes the store tell of changed keys while anybody wants to know.
func (ex *executor) observe() {
	if ex.parking.count > 0 || ex.watching.count > 0 || len(ex.moving) > 0 || ex.tracking.InUse() || ex.watchdog.attached.InUse() {
		ex.store.SetObserver(ex)
	} else {
		ex.store.SetObserver(nil)
	}
}
