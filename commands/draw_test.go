package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// testRand returns a random source for one test and prints its seed.
func testRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// countingRand counts the draws.
type countingRand struct {
	*rand.Rand
	draws int
}

func (r *countingRand) IntN(n int) int {
	r.draws++
	return r.Rand.IntN(n)
}

// requireUniform fails if such counts occur in less than one of a million runs with equally likely values. It
// uses Pearson's chi-square, which is close to normal for this number of values, and allows 5 standard
// deviations.
func requireUniform(t testing.TB, counts []int, trials int) {
	t.Helper()
	expected := float64(trials) / float64(len(counts))
	require.Greater(t, expected, 20.0, "too few trials to tell anything")
	var chi2 float64
	for _, n := range counts {
		d := float64(n) - expected
		chi2 += d * d / expected
	}
	freedom := float64(len(counts) - 1)
	require.Less(t, (chi2-freedom)*(chi2-freedom), 25*2*freedom+100, "chi-square %.1f of %v", chi2, counts)
}

func TestDistinctDraws(t *testing.T) {
	r := &countingRand{Rand: testRand(t)}
	for _, c := range []struct{ n, count int }{
		{2, 1}, {10, 1}, {10, 3}, {10, 4}, {10, 9}, {100, maxScannedDraws}, {100, maxScannedDraws + 1}, {1000, 333},
		{1000, 334}, {1000, 999}, {1 << 50, 5}, {1 << 50, 1000},
	} {
		t.Run(fmt.Sprintf("%d of %d", c.count, c.n), func(t *testing.T) {
			r.draws = 0
			drawn := distinct(r, c.n, c.count)
			require.Len(t, drawn, c.count)
			require.LessOrEqual(t, r.draws, 3*c.count+50, "draws are in proportion to the count")
			slices.Sort(drawn)
			require.Len(t, slices.Compact(slices.Clone(drawn)), c.count)
			require.GreaterOrEqual(t, drawn[0], 0)
			require.Less(t, drawn[len(drawn)-1], c.n)
		})
	}
}

func TestDistinctDrawsAreUniform(t *testing.T) {
	r := testRand(t)
	for _, c := range []struct{ n, count int }{{60, 3}, {60, 18}, {60, 30}, {60, 59}} {
		t.Run(fmt.Sprintf("%d of %d", c.count, c.n), func(t *testing.T) {
			const trials = 6000
			first, last := make([]int, c.n), make([]int, c.n)
			for range trials {
				drawn := distinct(r, c.n, c.count)
				first[drawn[0]]++
				last[drawn[c.count-1]]++
			}
			requireUniform(t, first, trials)
			requireUniform(t, last, trials)
		})
	}
}
