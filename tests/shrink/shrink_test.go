package shrink

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// needs returns a function that fails if all of these steps are there.
func needs(all ...int) func([]int) bool {
	return func(part []int) bool {
		for _, n := range all {
			if !slices.Contains(part, n) {
				return false
			}
		}
		return true
	}
}

func TestOnlyWhatIsNeededIsLeft(t *testing.T) {
	for _, needed := range [][]int{{}, {0}, {999}, {499, 500}, {3, 400, 401, 998}, {0, 1, 2, 3, 4, 5, 6, 7}} {
		steps := numbers(1000)
		r := Search(steps, needs(needed...), Limits{})
		require.ElementsMatch(t, needed, r.Steps)
		require.True(t, slices.IsSorted(r.Steps))
		require.Equal(t, 1000-len(needed), r.Dropped)
		require.True(t, r.Reproduced)
		require.True(t, r.Minimal, "%v: %s", needed, r)
		require.Less(t, r.Tries, 250)
		require.Equal(t, numbers(1000), steps, "the caller's steps have changed")
	}
}

func TestNoneAndOne(t *testing.T) {
	require.Empty(t, Steps(nil, func([]int) bool { return true }, Limits{}))
	require.Empty(t, Steps([]int{1}, func([]int) bool { return true }, Limits{}))
	require.Equal(t, []int{1}, Steps([]int{1}, needs(1), Limits{}))
}

// Opening and closing are left out together, or not at all.
func TestPairsGo(t *testing.T) {
	wellFormed := func(part []string) bool {
		open := 0
		for _, s := range part {
			switch s {
			case "open":
				open++
			case "close":
				open--
			}
			if open < 0 || open > 1 {
				return false
			}
		}
		return open == 0
	}
	steps := []string{"a", "open", "b", "c", "close", "d", "open", "BAD", "close", "e"}
	fails := func(part []string) bool { return wellFormed(part) && slices.Contains(part, "BAD") }
	got := Steps(steps, fails, Limits{})
	require.Equal(t, []string{"BAD"}, got)
}

// Any two steps are needed: there are many smallest results, and the search always finds the same.
func TestTheSameAgain(t *testing.T) {
	anyTwo := func(part []int) bool { return len(part) >= 2 }
	want := Search(numbers(100), anyTwo, Limits{})
	require.Len(t, want.Steps, 2)
	for range 5 {
		require.Equal(t, want, Search(numbers(100), anyTwo, Limits{}))
	}
}

// For any function fails: the remaining steps fail, and do not fail without one of them.
func TestAnyFailure(t *testing.T) {
	for seed := range uint64(200) {
		chance := rand.New(rand.NewPCG(seed, 1))
		sum, mod := chance.IntN(60), 1+chance.IntN(7)
		fails := func(part []int) bool {
			total := 0
			for _, n := range part {
				total += n
			}
			return total >= sum && len(part)%mod == 40%mod
		}
		r := Search(numbers(40), fails, Limits{Tries: 100_000})
		require.True(t, r.Minimal, "seed %d: %s", seed, r)
		require.True(t, fails(r.Steps), "seed %d: %s", seed, r)
		for i := range r.Steps {
			require.False(t, fails(slices.Delete(slices.Clone(r.Steps), i, i+1)), "seed %d: %v, %d", seed, r.Steps, i)
		}
	}
}

func TestItStopsAfterSoManyTries(t *testing.T) {
	called := 0
	fails := func(part []int) bool { called++; return needs(3, 400, 998)(part) }
	r := Search(numbers(1000), fails, Limits{Tries: 20})
	require.Equal(t, 20, called)
	require.Equal(t, 20, r.Tries)
	require.True(t, needs(3, 400, 998)(r.Steps))
	require.Less(t, len(r.Steps), 1000)
	require.False(t, r.Minimal)
	require.Contains(t, r.String(), "perhaps more than are needed")
}

func TestItStopsWhenTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		fails := func(part []int) bool { time.Sleep(time.Second); return needs(3, 400, 998)(part) }
		r := Search(numbers(1000), fails, Limits{Time: 5 * time.Second})
		require.Less(t, time.Since(begun), 7*time.Second)
		require.False(t, r.Minimal)
		require.True(t, needs(3, 400, 998)(r.Steps))
		require.Less(t, len(r.Steps), 1000)
	})
}

func TestWhatDoesNotFailAgain(t *testing.T) {
	r := Search(numbers(10), func([]int) bool { return false }, Limits{})
	require.Equal(t, numbers(10), r.Steps)
	require.Equal(t, 1, r.Tries)
	require.False(t, r.Reproduced)
	require.False(t, r.Minimal)
	require.Contains(t, r.String(), "did not fail when they were tried again")
}
