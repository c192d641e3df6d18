package stats

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Samples of one second are one, the worst; old ones go, and the worst ever stays.
func TestLatencySamples(t *testing.T) {
	l := Events{ThresholdMS: 5}
	for i := range int64(200) {
		l.Add("e", 1000+i, 10+i%7)
		l.Add("e", 1000+i, 5)
		l.Add("e", 1000+i, 11+i%7)
	}
	l.Add("e", 900, 500)
	for i := range int64(mostSamples) {
		l.Add("e", 2000+i, 20)
	}
	e := l.Of("e")
	require.Len(t, e.Samples, mostSamples)
	require.EqualValues(t, 500, e.WorstMS)
	f := e.Figures(2199)
	require.Equal(t, Figures{Least: 20, Most: 20, Sum: 20 * mostSamples, Average: 20, SpanS: 199}, f)
	l.Add("e", 3000, 20+mostSamples)
	require.EqualValues(t, 21, e.Figures(3000).Average)
}

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
