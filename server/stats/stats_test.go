package stats

import (
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
