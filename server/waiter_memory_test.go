package server

import (
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/transport"
)

// The memory of a client that waits for a lock is bounded, without its words. CLIENT LIST shows about as
// much.
func TestWaiterMemory(t *testing.T) {
	const waiters, most = 2000, 400
	ex := &start(t, Options{}).executor
	ex.Waits.LockEvents.Muted = true // it keeps a bounded number of keys
	addr := &net.UnixAddr{Net: "unix"}
	var scratch batch
	sessions := make([]*session, waiters)
	for i := range sessions {
		s, refused := ex.open(nowhere{}, transport.Peer{Local: addr, Remote: addr})
		require.NotNil(t, s, refused)
		s.Feed(appendCommand(nil, "LOCK", fmt.Sprintf("lock:%012d", i), "holder", "PX", "3600000"), &scratch, nil)
		sessions[i] = s
	}
	requests := make([][]byte, waiters)
	for i := range requests {
		requests[i] = appendCommand(nil, "LOCK", fmt.Sprintf("lock:%012d", i), fmt.Sprintf("c0ffee1e7a944c0b9a3e2f6f4f:%012d", i), "PX", "3600000", "WAIT", "0")
	}
	ex.Mu.Lock()
	counted := ex.Memory.Clients.Sum
	ex.Mu.Unlock()
	before := heapBytes()
	for i, s := range sessions {
		s.Feed(requests[i], &scratch, nil)
	}
	each := float64(heapBytes()-before) / waiters
	ex.Mu.Lock()
	require.Equal(t, waiters, ex.Waits.Queues.Len())
	words := float64(len(sessions[0].Waiter.Words))
	counted = (ex.Memory.Clients.Sum - counted) / waiters
	ex.Mu.Unlock()
	t.Logf("a waiter takes %.0f bytes, %.0f of them for its words, and %d are counted", each, words, counted)
	require.LessOrEqual(t, each-words, float64(most))
	require.InDelta(t, each, counted, 0.25*each)
	runtime.KeepAlive(requests)
}
