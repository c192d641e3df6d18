package marks

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// check compares a set and its invariants with the expected content.
func check(t *testing.T, s *Set, want map[int]bool) {
	t.Helper()
	require.Equal(t, len(want), s.Len())
	var got []int
	for i := s.Next(0); i >= 0; i = s.Next(i + 1) {
		got = append(got, i)
	}
	require.Equal(t, slices.Sorted(maps.Keys(want)), got)
	var back []int
	for i := s.Prev(math.MaxInt); i >= 0; i = s.Prev(i) {
		back = append(back, i)
	}
	slices.Reverse(back)
	require.Equal(t, got, back)
	for level := range s.levels {
		for i, word := range s.levels[level] {
			if level+1 < len(s.levels) {
				bit := s.levels[level+1][i>>wordBits]>>(i&wordMask)&1 != 0
				require.Equal(t, word != 0, bit, "level %d, word %d", level, i)
			}
		}
	}
	if n := len(s.levels); n > 0 {
		require.Len(t, s.levels[n-1], 1)
	}
}

func TestEmpty(t *testing.T) {
	var s Set
	require.False(t, s.Has(0))
	require.Equal(t, -1, s.Next(0))
	require.Equal(t, -1, s.Prev(9))
	s.Remove(5)
	s.Moved(1, 2)
	check(t, &s, nil)
}

func TestAgainstMap(t *testing.T) {
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, size := range []int{1, 64, 65, 4096, 4097, 300_000} {
		var s Set
		want := map[int]bool{}
		for round := range 2000 {
			i := random.IntN(size)
			s.Prefetch([]int{i, -1, size + i, random.IntN(size)})
			if random.IntN(3) == 0 {
				i = random.IntN(min(size, 70))
			}
			switch random.IntN(3) {
			case 0, 1:
				s.Add(i)
				want[i] = true
			case 2:
				s.Remove(i)
				delete(want, i)
			}
			require.Equal(t, want[i], s.Has(i))
			if round%100 == 0 {
				check(t, &s, want)
			}
		}
		check(t, &s, want)
		for i := range want {
			s.Remove(i)
		}
		check(t, &s, nil)
	}
}

// TestMovesWithADict: the set follows a dict in which the last entry moves to the slot of a deleted one.
func TestMovesWithADict(t *testing.T) {
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	var s Set
	var dict []bool // by slot: it is marked
	for range 20_000 {
		if random.IntN(5) < 3 || len(dict) == 0 {
			marked := random.IntN(4) == 0
			if dict = append(dict, marked); marked {
				s.Add(len(dict) - 1)
			}
			continue
		}
		at, last := random.IntN(len(dict)), len(dict)-1
		s.Moved(at, last)
		dict[at] = dict[last]
		dict = dict[:last]
	}
	want := map[int]bool{}
	for i, marked := range dict {
		if marked {
			want[i] = true
		}
	}
	check(t, &s, want)
}
