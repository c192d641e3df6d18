package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHandedOnInVain: a transfer that failed is not tried again at once, but later, or when the member leads
// again.
func TestHandedOnInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h handing
		require.Zero(t, h.left(3))
		h.fail(3)
		require.Equal(t, sendTimeout, h.left(3))
		require.Zero(t, h.left(4))
		time.Sleep(sendTimeout - time.Second)
		require.Equal(t, time.Second, h.left(3))
		time.Sleep(time.Second)
		require.Zero(t, h.left(3))

		e, m := alone(), stuck{make(chan struct{}, 1), make(chan struct{})}
		close(m.let)
		require.NoError(t, e.Open(m))
		for !e.Leads() {
			time.Sleep(time.Millisecond)
		}
		require.ErrorContains(t, e.Transfer(""), "cannot find peer")
		require.ErrorContains(t, e.Transfer("a"), "try again in 11s")
		time.Sleep(sendTimeout)
		require.ErrorContains(t, e.Transfer("a"), "a did not take the lead")
		require.NoError(t, e.Close())
	})
}
