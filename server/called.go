package server

import "sync/atomic"

// syncWaiters are those who wait in WAIT and WAITAOF for what they wrote to be with replicas, and on disk.
type syncWaiters struct {
	waiters map[*parkedCall]struct{}
	count   atomic.Int64 // how many they are, for who does not have the executor
}

// enter makes a waiter try again when the log has been synced, or a replica has sent an acknowledgement.
func (sw *syncWaiters) enter(w *parkedCall) {
	sw.waiters[w] = struct{}{}
	sw.count.Store(int64(len(sw.waiters)))
}

// forget is called when a wait is over, however it ended.
func (sw *syncWaiters) forget(w *parkedCall) {
	delete(sw.waiters, w)
	sw.count.Store(int64(len(sw.waiters)))
}

// answerWaits lets those who wait in WAIT and WAITAOF try. Who is answered is forgotten.
func (ws *waits) answerWaits() {
	for w := range ws.syncing.waiters {
		ws.try(w)
	}
}
