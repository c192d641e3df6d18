package history

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPointsGoWhenTheirTimeIsOver(t *testing.T) {
	var b Book
	require.Nil(t, b.Of("ops"))
	begun := time.Unix(1_700_000_000, 0)
	for at := time.Duration(0); at <= 2*Kept; at += Every {
		b.Add("ops", begun.Add(at), at.Seconds(), -1)
	}
	columns := b.Of("ops")
	require.Len(t, columns, 3)
	require.Len(t, columns[0], int(Kept/Every))
	last := len(columns[0]) - 1
	require.Equal(t, float64(begun.Add(2*Kept).Unix()), columns[0][last])
	require.Equal(t, []float64{(2 * Kept).Seconds(), -1}, []float64{columns[1][last], columns[2][last]})
	require.Equal(t, float64(begun.Add(Kept+Every).Unix()), columns[0][0])
	require.LessOrEqual(t, cap(b.of["ops"].flat), 4*3*int(Kept/Every), "memory is used again")
}

func TestSeriesThatEndAreForgotten(t *testing.T) {
	var b Book
	begun := time.Unix(1_700_000_000, 0)
	b.Add("sale", begun, 1)
	b.Add("ops", begun.Add(time.Minute), 1)
	b.Forget(begun.Add(Kept - Every))
	require.NotNil(t, b.Of("sale"))
	b.Forget(begun.Add(Kept))
	require.Nil(t, b.Of("sale"))
	require.NotNil(t, b.Of("ops"))
}

// TestPointsOfATimeThatStandsStill: there is one point for each time, however often values are added, and no
// point behind a time that was set back.
func TestPointsOfATimeThatStandsStill(t *testing.T) {
	var b Book
	begun := time.Unix(1_700_000_000, 0)
	for n := range 1000 {
		b.Add("ops", begun, float64(n))
	}
	require.Equal(t, [][]float64{{1_700_000_000}, {999}}, b.Of("ops"))
	b.Add("ops", begun.Add(Every), 1)
	b.Add("ops", begun.Add(2*Every), 2)
	b.Add("ops", begun.Add(Every), 3)
	require.Equal(t, [][]float64{{1_700_000_000, 1_700_000_002}, {999, 3}}, b.Of("ops"))
}
