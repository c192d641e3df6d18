package server

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/hotkeys"
)

// TestSketchBound: no sum is too high, none is lower than the error says, and the error is at most 1/1024 of
// the total, for streams of all shapes.
func TestSketchBound(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	for round := range uint64(10) {
		random := rand.New(rand.NewPCG(round, 7))
		keys, shape, largest := 1+random.IntN(20_000), 1+4*random.Float64(), 1+random.Int64N(1000)
		var s hotkeys.Sketch
		var exact [hotkeys.Measures]map[string]int64
		exact[0], exact[1] = make(map[string]int64), make(map[string]int64)
		for range 50_000 {
			name := fmt.Sprint("key-", int(math.Pow(random.Float64(), shape)*float64(keys)))
			weights := hotkeys.Sums{random.Int64N(largest + 1), int64(random.IntN(2))}
			db := len(name) % 3
			for i, w := range weights {
				exact[i][fmt.Sprint(db, " ", name)] += w
			}
			s.Add(maphash.String(seed, name), db, []byte(name), weights)
		}
		for i := range exact {
			checkBound(t, &s, i, exact[i])
		}
	}
}

func checkBound(t *testing.T, s *hotkeys.Sketch, measure int, exact map[string]int64) {
	t.Helper()
	total, most := int64(0), s.Error[measure]
	for _, sum := range exact {
		total += sum
	}
	require.Equal(t, total, s.Total[measure])
	require.LessOrEqual(t, most*hotkeys.Counters, total)
	top := s.Top(measure)
	require.True(t, slices.IsSortedFunc(top, func(a, b hotkeys.Key) int { return int(b.Sum - a.Sum) }))
	there := make(map[string]bool)
	for _, k := range top {
		name := fmt.Sprint(k.DB, " ", string(k.Key))
		require.LessOrEqual(t, k.Sum, exact[name])
		require.GreaterOrEqual(t, k.Sum+most, exact[name])
		there[name] = true
	}
	for name, sum := range exact {
		require.True(t, there[name] || sum <= most+most/16, "%s has %d, the error is %d", name, sum, most)
	}
}

// TestSketchSamples: in a long stream sums stay within their margins.
func TestSketchSamples(t *testing.T) {
	t.Parallel()
	seed, random := maphash.MakeSeed(), rand.New(rand.NewPCG(3, 3))
	var s hotkeys.Sketch
	exact := make(map[string]int64)
	for range 600_000 {
		name := fmt.Sprint("key-", int(math.Pow(random.Float64(), 4)*5000))
		exact[name]++
		s.Add(maphash.String(seed, name), 0, []byte(name), hotkeys.Sums{7, 1})
	}
	require.EqualValues(t, 600_000, s.Total[1])
	top := s.Top(1)[:20]
	for _, k := range top {
		name, margin := string(k.Key), s.Margin(1, k.Sum)
		require.Positive(t, margin)
		require.Less(t, margin, k.Sum/2)
		require.LessOrEqual(t, k.Sum-margin, exact[name], name)
		require.GreaterOrEqual(t, k.Sum+s.Error[1]+margin, exact[name], name)
	}
	require.Equal(t, "key-0", string(top[0].Key))
}

func TestSketchOfNothing(t *testing.T) {
	var s hotkeys.Sketch
	require.Empty(t, s.Top(0))
	s.Add(1, 0, []byte("k"), hotkeys.Sums{})
	s.Add(1, 0, []byte("k"), hotkeys.Sums{-5, 0})
	require.Empty(t, s.Top(0))
	require.Zero(t, s.Total)
	s.Add(1, 0, []byte("k"), hotkeys.Sums{3, -1})
	require.Equal(t, []hotkeys.Key{{Key: []byte("k"), Sum: 3}}, s.Top(0))
	require.Empty(t, s.Top(1))
	require.Zero(t, testing.AllocsPerRun(1000, func() { s.Add(1, 0, []byte("k"), hotkeys.Sums{3, 1}) }))
}
