package client

import "context"

// isClosed reports whether Close was called.
func (k *keeper) isClosed() bool { return k.closing.Err() != nil }

// enter counts the begin of a call for a lock; false if the client is closed.
func (k *keeper) enter() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isClosed() {
		return false
	}
	k.calls.Add(1)
	return true
}

// close releases the held locks, as far as the servers answer in time, and ends the connections. Calls end
// after the locks were released. A released lock may be granted to a call of this client, and the release of
// that lock has to reach the server last.
func (k *keeper) close() {
	k.mu.Lock() // from here on keep refuses
	k.shut()
	k.mu.Unlock()
	for _, h := range k.held() { // a hold of several keys comes more than once
		if h.markLost(h.keys[0], h.tokens[0], closed) {
			h.abandon()
		} else { // an Unlock is under way, and the library may send its command late
			h.at().mustSend(h.keys[0], [][]string{h.unlock()}, nil)
		}
	}
	k.leave()
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		k.calls.Wait()
	}()
	limited, cancel := context.WithTimeout(context.Background(), k.client.limit)
	defer cancel()
	k.mu.Lock()
	foreign := k.foreign
	k.mu.Unlock()
	select {
	case <-returned:
	case <-limited.Done():
	}
	select {
	case <-k.noDebts():
	case <-foreign: // the server is no lockserver
	case <-limited.Done():
	}
	k.mu.Lock() // from here on no shard begins to run
	k.end()
	k.mu.Unlock()
	k.running.Wait()
	for _, d := range k.shards.unpaid(&k.mu) {
		go k.payLate(d)
	}
}
