package due

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// check verifies the queue's invariants.
func (q *Queue[T]) check(t *testing.T) {
	t.Helper()
	for i, c := range q.heap {
		require.Equal(t, i+1, c.item.place)
		require.LessOrEqual(t, c.atMS, c.item.atMS)
		if i > 0 {
			require.LessOrEqual(t, q.heap[(i-1)/arity].atMS, c.atMS)
		}
	}
}

func TestAgainstModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	var q Queue[int]
	model := map[*Item[int]]int64{}
	var all []*Item[int]
	for i := range 300 {
		all = append(all, &Item[int]{Of: i})
	}
	now := int64(0)
	for step := range 30_000 {
		it := all[r.IntN(len(all))]
		switch r.IntN(7) {
		case 0, 1, 2:
			at := now + r.Int64N(1000)
			q.Set(it, at)
			model[it] = at
		case 3:
			q.Remove(it)
			delete(model, it)
		case 4:
			odd := r.IntN(50)
			q.RemoveAll(func(it *Item[int]) bool { return it.Of == odd })
			for it := range model {
				if it.Of == odd {
					delete(model, it)
				}
			}
		default:
			now += r.Int64N(40)
			steps := 1 << 20
			for it := q.Pop(now, &steps); it != nil; it = q.Pop(now, &steps) {
				at, ok := model[it]
				require.True(t, ok)
				require.Equal(t, at, it.AtMS())
				require.LessOrEqual(t, at, now)
				delete(model, it)
			}
			for it, at := range model {
				require.Greater(t, at, now, "item %d was not popped", it.Of)
			}
		}
		require.Equal(t, len(model), q.Len())
		if step%100 == 0 {
			q.check(t)
		}
	}
}

func TestPopInOrder(t *testing.T) {
	var q Queue[int]
	items := make([]Item[int], 1000)
	for i := range items {
		q.Set(&items[i], int64(i*7919%1000))
	}
	q.Set(&items[0], 5000) // put off
	last, steps := int64(-1), 1<<20
	for it := q.Pop(10_000, &steps); it != nil; it = q.Pop(10_000, &steps) {
		require.GreaterOrEqual(t, it.AtMS(), last)
		last = it.AtMS()
	}
	require.Equal(t, int64(5000), last)
}

func TestPopIsBounded(t *testing.T) {
	var q Queue[int]
	items := make([]Item[int], 100)
	for i := range items {
		q.Set(&items[i], 1)
	}
	for i := range items {
		q.Set(&items[i], 100)
	}
	steps := 10
	require.Nil(t, q.Pop(1, &steps))
	require.Zero(t, steps)
	next, ok := q.NextMS()
	require.True(t, ok)
	require.Equal(t, int64(1), next, "there is more to look at")
	steps = 1000
	require.Nil(t, q.Pop(1, &steps))
	next, _ = q.NextMS()
	require.Equal(t, int64(100), next)
}

func BenchmarkRenew(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		b.Run(time.Duration(n).String(), func(b *testing.B) {
			var q Queue[int]
			items := make([]Item[int], n)
			for i := range items {
				q.Set(&items[i], int64(i))
			}
			for i := 0; b.Loop(); i++ {
				q.Set(&items[i*7919%n], int64(n+i))
			}
		})
	}
}

// TestEarliest: the items come in the order of their times, and no more than asked for.
func TestEarliest(t *testing.T) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for n := range 70 {
		var q Queue[int]
		times := []int64{}
		for i := range n {
			times = append(times, rng.Int64N(40))
			q.Set(&Item[int]{Of: i}, times[i])
		}
		slices.Sort(times)
		for most := range n + 2 {
			got := []int64{}
			q.Earliest(most, func(it *Item[int]) { got = append(got, it.AtMS()) })
			require.Equal(t, times[:min(most, n)], got)
		}
		q.check(t)
	}
}
