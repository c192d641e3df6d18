package sparse

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestArray runs random operations on an array and on a map.
func TestArray(t *testing.T) {
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		var a Array[int]
		want := map[int]int{}
		most := 1 << (3 + random.IntN(15))
		for range 500 {
			i := random.IntN(most)
			switch n := random.IntN(20); {
			case n == 0: // like a dict that has become short
				maps.DeleteFunc(want, func(at, _ int) bool {
					if at <= i {
						return false
					}
					*a.At(at) = 0
					return true
				})
				a.Trim(i)
			case n == 1 && random.IntN(20) == 0:
				for at := range want {
					*a.At(at) = 0
				}
				clear(want)
				a.Emptied()
			default:
				want[i] = 1 + random.IntN(1000)
				*a.Make(i) = want[i]
			}
			if random.IntN(20) == 0 { // elements that exist, that are missing, and that can never exist
				var some []int
				for range random.IntN(3 * prefetched) {
					some = append(some, random.IntN(4*most)-most)
				}
				a.Prefetch(some)
			}
			if i = random.IntN(most); a.At(i) == nil {
				require.Zero(t, want[i])
			} else {
				require.Equal(t, want[i], *a.At(i))
			}
		}
		from := random.IntN(most) &^ (pieceSize - 1)
		to := from + random.IntN(most)
		got, last := map[int]int{}, -1
		a.Each(from, to, func(first int, p *Piece[int]) {
			require.Greater(t, first, last)
			require.GreaterOrEqual(t, first, from)
			require.Less(t, first, to)
			last = first
			for i, n := range p {
				if n != 0 {
					got[first+i] = n
				}
			}
		})
		lastOf := (to + pieceSize - 1) &^ (pieceSize - 1)
		maps.DeleteFunc(want, func(at, _ int) bool { return at < from || at >= lastOf })
		require.Equal(t, want, got)
		pieces := 0
		a.Each(0, most, func(int, *Piece[int]) { pieces++ })
		require.Equal(t, pieces, a.count)
	}
}

// TestFarElement: one element after many missing ones takes hardly any memory.
func TestFarElement(t *testing.T) {
	var a Array[uint64]
	*a.Make(10_000_000) = 7
	require.Equal(t, 10_000_000/(pieceSize*pageSize)+1, len(a.pages))
	require.Equal(t, 1, a.count)
	*a.At(10_000_000) = 0
	a.Emptied()
	require.NotNil(t, a.At(10_000_000), "the next one finds its piece")
	a.Trim(100)
	require.Nil(t, a.At(10_000_000))
	require.Zero(t, a.count)
}

// TestEmptied: an array that had many pieces keeps none.
func TestEmptied(t *testing.T) {
	var a Array[uint64]
	for i := range pieceSize * (fewPieces + 1) {
		a.Make(i)
	}
	a.Emptied()
	require.Zero(t, a.count)
	require.Nil(t, a.At(0))
}
