package server

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Permits of a waiter go to the next one at once if its client disconnects before it can have read the
// reply. Earlier permits of the owner stay.
func TestSemaphorePermitsAreTakenBack(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		holder, first, next := w.client(t), w.client(t), w.client(t)
		require.Positive(t, holder.Do("SEM.ACQUIRE", "s", "a", "LIMIT", "5", "PERMITS", "4").Int)
		require.Positive(t, holder.Do("SEM.ACQUIRE", "s", "b", "PERMITS", "1").Int)
		first.Send("SEM.ACQUIRE", "s", "b", "PERMITS", "3", "WAIT", "0")
		awaitParked(t, w.srv, 1)
		next.Send("SEM.ACQUIRE", "s", "c", "PERMITS", "2", "WAIT", "0")
		awaitParked(t, w.srv, 2)
		w.disk.hold()
		holder.Send("SEM.RELEASE", "s", "a")
		awaitParked(t, w.srv, 1)
		w.awaitPending(t, 2)
		first.Close()
		awaitParked(t, w.srv, 0)
		w.disk.release()
		require.Zero(t, holder.Receive().Int)
		require.Positive(t, next.Receive().Int)
		require.Contains(t, holder.Do("SEM.INFO", "s").String(), `"available" 2 "used" 3`)
		require.Zero(t, holder.Do("SEM.RELEASE", "s", "b", "PERMITS", "1").Int)
		require.Zero(t, next.Do("SEM.RELEASE", "s", "c").Int)
		require.Zero(t, next.Do("EXISTS", "s").Int)
	})
}

// A wait with ONCE that was sent again over another connection keeps the permits when the first connection
// goes before the reply could be read.
func TestSemaphorePermitsConfirmedOnce(t *testing.T) {
	t.Parallel()
	onEveryLog(t, func(t *testing.T, w *logWorld) {
		holder, first, second := w.client(t), w.client(t), w.client(t)
		require.Positive(t, holder.Do("SEM.ACQUIRE", "s", "a", "LIMIT", "2", "PERMITS", "2").Int)
		first.Send("SEM.ACQUIRE", "s", "b", "WAIT", "0", "ONCE")
		awaitParked(t, w.srv, 1)
		second.Send("SEM.ACQUIRE", "s", "b", "WAIT", "0", "ONCE")
		awaitParked(t, w.srv, 2)
		w.disk.hold()
		holder.Send("SEM.RELEASE", "s", "a")
		awaitParked(t, w.srv, 0)
		w.awaitPending(t, 3)
		first.Close()
		eventually(t, func() bool { return w.srv.connected() == 2 }, "the first has gone")
		w.disk.release()
		require.Zero(t, holder.Receive().Int)
		require.Positive(t, second.Receive().Int)
		require.Contains(t, holder.Do("SEM.INFO", "s").String(), `"available" 1 "used" 1`)
		require.Zero(t, second.Do("SEM.RELEASE", "s", "b").Int)
	})
}
