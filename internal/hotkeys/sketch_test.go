package hotkeys

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSketchBound: no sum is too high, none is lower than the error says, and the error is at most 1/1024 of
// the total, for streams of all shapes.
func TestSketchBound(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	for round := range uint64(10) {
		random := rand.New(rand.NewPCG(round, 7))
		keys, shape, largest := 1+random.IntN(20_000), 1+4*random.Float64(), 1+random.Int64N(1000)
		var s Sketch
		exact := make(map[string]int64)
		for range 50_000 {
			name := fmt.Sprint("key-", int(math.Pow(random.Float64(), shape)*float64(keys)))
			weight := random.Int64N(largest + 1)
			db := len(name) % 3
			exact[fmt.Sprint(db, " ", name)] += weight
			s.Add(maphash.String(seed, name), db, []byte(name), weight)
		}
		total := int64(0)
		for _, sum := range exact {
			total += sum
		}
		require.Equal(t, total, s.Total)
		require.LessOrEqual(t, s.Error*Counters, s.Total)
		top := s.Top()
		require.True(t, slices.IsSortedFunc(top, func(a, b Key) int { return int(b.Sum - a.Sum) }))
		there := make(map[string]bool)
		for _, k := range top {
			name := fmt.Sprint(k.DB, " ", string(k.Key))
			require.LessOrEqual(t, k.Sum, exact[name], "round %d", round)
			require.GreaterOrEqual(t, k.Sum+s.Error, exact[name], "round %d", round)
			there[name] = true
		}
		for name, sum := range exact {
			require.True(t, sum <= s.Error || there[name] || sum <= s.Error+s.Error/16, "round %d: %s has %d, the error is %d", round, name, sum, s.Error)
		}
	}
}

func TestKth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		a := make([]int64, 1+random.IntN(300))
		for i := range a {
			a[i] = random.Int64N(1 + random.Int64N(50))
		}
		sorted := slices.Sorted(slices.Values(a))
		k := random.IntN(len(a))
		require.Equal(t, sorted[k], kth(a, k))
	}
}

func TestNothing(t *testing.T) {
	var s Sketch
	require.Empty(t, s.Top())
	s.Add(1, 0, []byte("k"), 0)
	s.Add(1, 0, []byte("k"), -5)
	require.Empty(t, s.Top())
	require.Zero(t, s.Total)
	s.Add(1, 0, []byte("k"), 3)
	require.Equal(t, []Key{{0, []byte("k"), 3}}, s.Top())
	require.Zero(t, testing.AllocsPerRun(1000, func() { s.Add(1, 0, []byte("k"), 3) }))
}

func BenchmarkAdd(b *testing.B) {
	seed := maphash.MakeSeed()
	for _, n := range []int{16, 4096, 1 << 20} {
		b.Run(fmt.Sprint("keys=", n), func(b *testing.B) {
			var s Sketch
			keys := make([][]byte, n)
			hashes := make([]uint64, n)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "order:%d", i)
				hashes[i] = maphash.Bytes(seed, keys[i])
			}
			b.ResetTimer()
			for i := range b.N {
				s.Add(hashes[i%n], 0, keys[i%n], 1)
			}
		})
	}
}
