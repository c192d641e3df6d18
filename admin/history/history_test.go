package history

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var begun = time.Unix(1_700_000_000, 0)

// TestPointsGoWhenTheirTimeIsOver: an hour of points each ten seconds, and each second at its end.
func TestPointsGoWhenTheirTimeIsOver(t *testing.T) {
	var b Book
	require.Nil(t, b.Of("ops"))
	require.Nil(t, b.Latest("ops"))
	last := 2 * Coarse.Kept()
	for at := time.Duration(0); at <= last; at += Fine.Every() {
		b.Add(Fine, "ops", begun.Add(at), at.Seconds(), -1)
		if at%Coarse.Every() == 0 {
			b.Add(Coarse, "ops", begun.Add(at), at.Seconds(), -2)
		}
	}
	columns := b.Of("ops")
	require.Len(t, columns, 3)
	now := float64(begun.Add(last).Unix())
	require.Equal(t, now, columns[0][len(columns[0])-1])
	require.Equal(t, []float64{now, last.Seconds(), -1}, b.Latest("ops"))
	fine, at := 0, now+1
	for i := len(columns[0]) - 1; i >= 0; i-- {
		require.Equal(t, columns[0][i]-float64(begun.Unix()), columns[1][i])
		step := Coarse
		if i >= len(columns[0])-rings[Fine].most {
			step = Fine
			fine++
		}
		require.Equal(t, map[Step]float64{Fine: -1, Coarse: -2}[step], columns[2][i])
		require.LessOrEqual(t, at-columns[0][i], step.Every().Seconds())
		at = columns[0][i]
	}
	require.Equal(t, rings[Fine].most, fine)
	require.InDelta(t, now-Coarse.Kept().Seconds(), columns[0][0], Coarse.Every().Seconds())
}

func TestSeriesThatEndAreForgotten(t *testing.T) {
	var b Book
	b.Add(Fine, "sale", begun, 1)
	b.Add(Fine, "ops", begun.Add(time.Minute), 1)
	b.Forget(begun.Add(Coarse.Kept() - time.Second))
	require.NotNil(t, b.Of("sale"))
	b.Forget(begun.Add(Coarse.Kept()))
	require.Nil(t, b.Of("sale"))
	require.NotNil(t, b.Of("ops"))
	require.Equal(t, bytesOf("ops", 1), b.bytes)
}

// TestPointsOfATimeThatStandsStill: there is one point for each time, however often values are added, and no
// point behind a time that was set back.
func TestPointsOfATimeThatStandsStill(t *testing.T) {
	var b Book
	for n := range 1000 {
		b.Add(Fine, "ops", begun, float64(n))
	}
	require.Equal(t, [][]float64{{1_700_000_000}, {999}}, b.Of("ops"))
	b.Add(Fine, "ops", begun.Add(2*time.Second), 1)
	b.Add(Fine, "ops", begun.Add(4*time.Second), 2)
	b.Add(Fine, "ops", begun.Add(2*time.Second), 3)
	require.Equal(t, [][]float64{{1_700_000_000, 1_700_000_002}, {999, 3}}, b.Of("ops"))
	for i := range 2 * rings[Fine].most { // also at the turn of the ring
		b.Add(Fine, "ops", begun.Add(time.Duration(10+i)*time.Second), 4)
	}
	b.Add(Fine, "ops", begun, 5)
	require.Equal(t, [][]float64{{1_700_000_000}, {5}}, b.Of("ops"))
}

// TestABookIsBounded: however many series are added, with whatever names, a book takes a megabyte at most.
func TestABookIsBounded(t *testing.T) {
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	b := new(Book)
	for i := range 1000 {
		for _, step := range []Step{Fine, Coarse} {
			b.Add(step, fmt.Sprintf("sale:%0*d", 1+i%200, i), begun, 1, 2, 3, 4)
		}
	}
	kept := len(b.of)
	require.Less(t, kept, 1000)
	require.Greater(t, kept, 50)
	require.LessOrEqual(t, b.bytes, MostBytes)
	require.LessOrEqual(t, int64(memory()-before), int64(MostBytes))
	b.Forget(begun.Add(Coarse.Kept()))
	require.Zero(t, b.bytes)
	b.Add(Fine, "ops", begun, 1)
	require.NotNil(t, b.Of("ops"), "the place of former series is free again")
}
