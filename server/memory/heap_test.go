package memory

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHeap: the figures are those of runtime.ReadMemStats, which a server must not call.
func TestHeap(t *testing.T) {
	runtime.GC()
	h := ReadHeap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	near := func(want, got uint64, what string) {
		t.Helper()
		require.InDelta(t, want, got, 16<<20, what)
		require.Positive(t, got, what)
	}
	near(m.HeapAlloc, h.Allocated, "allocated")
	near(m.HeapInuse, h.Active(), "active")
	near(m.HeapSys-m.HeapReleased, h.Resident(), "resident")
	near(m.HeapSys, h.Resident()+h.Released, "from the system")
	require.InDelta(t, m.HeapObjects, h.Objects, float64(m.HeapObjects))
	require.Positive(t, h.Objects)
	require.InDelta(t, m.NumGC, h.Collections, 10)
	require.Positive(t, h.Collections)
}
