package due

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func (b *Bounds) check(t *testing.T) {
	t.Helper()
	for i := 1; i < len(b.levels); i++ {
		below := b.levels[i-1]
		require.Equal(t, (len(below)+nodeSize-1)/nodeSize, len(b.levels[i]))
		for j, got := range b.levels[i] {
			least := int64(Never)
			for _, atMS := range below[j*nodeSize : min((j+1)*nodeSize, len(below))] {
				least = min(least, atMS)
			}
			require.Equal(t, least, got, "node %d of level %d", j, i)
		}
	}
	if n := len(b.levels); n > 0 {
		require.Len(t, b.levels[n-1], 1)
	}
}

// TestBounds runs random operations on bounds and on a map.
func TestBounds(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		var b Bounds
		want := map[int]int64{}
		groups := 1 + rng.IntN(1+rng.IntN(10_000))
		require.Equal(t, int64(Never), b.FirstMS())
		require.Equal(t, -1, b.From(0))
		for range 400 {
			group := rng.IntN(groups)
			switch had, ok := want[group]; {
			case rng.IntN(3) > 0:
				atMS := rng.Int64N(1000) - 10
				b.Lower(group, atMS)
				if !ok || atMS < had {
					want[group] = atMS
				}
			case ok && rng.IntN(2) == 0:
				b.Raise(group, Never)
				delete(want, group)
			case ok:
				want[group] = had + rng.Int64N(100)
				b.Raise(group, want[group])
			}
			least, next, from := int64(Never), -1, rng.IntN(groups+100)
			for g, atMS := range want {
				least = min(least, atMS)
				if g >= from && (next < 0 || g < next) {
					next = g
				}
			}
			first, atMS := b.First()
			require.Equal(t, least, atMS)
			if least != Never {
				require.Equal(t, least, want[first])
			}
			require.Equal(t, next, b.From(from), "from %d", from)
		}
		b.check(t)
	}
}

// TestBoundOfTheLatest: a deadline at the end of time works, too.
func TestBoundOfTheLatest(t *testing.T) {
	var b Bounds
	b.Lower(3, Never)
	require.Equal(t, 3, b.From(0))
	require.Equal(t, int64(Never-1), b.FirstMS())
}
