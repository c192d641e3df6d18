package stats

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPauses(t *testing.T) {
	var now debug.GCStats
	p := Pauses{Read: func(s *debug.GCStats) { *s = now }}
	now.NumGC, now.Pause = 3, []time.Duration{5, 7, 6}
	require.Zero(t, p.Longest(), "the time of a pause before the first look is not known")
	require.Zero(t, p.Longest())
	now.NumGC, now.Pause = 5, []time.Duration{2, 3, 5, 7, 6}
	require.EqualValues(t, 3, p.Longest())
	now.NumGC, now.Pause = 500, []time.Duration{1, 9, 4}
	require.EqualValues(t, 9, p.Longest(), "older ones are not kept")
}

func TestPausesOfThisProcess(t *testing.T) {
	var p Pauses
	p.Longest()
	runtime.GC()
	require.Positive(t, p.Longest())
}
