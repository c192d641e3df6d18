package dict

import (
	"maps"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
)

func content(w View[int]) map[string]int {
	got := map[string]int{}
	w.Each(func(key string, v *int) bool { got[key] = *v; return true })
	return got
}

// TestViewsAgainstModel takes views at random moments, several at a time, and
// compares each with the copy that the model made at that moment.
func TestViewsAgainstModel(t *testing.T) {
	rng := newRand(t)
	type snapshot struct {
		view View[int]
		want map[string]int
	}
	for _, keys := range []int{10, 400, 3000} {
		var ep cow.Epoch
		m := newModel(t, &ep)
		var open []snapshot
		for i := range 40 * keys {
			key := strconv.Itoa(rng.IntN(keys))
			if rng.IntN(100) < 20+60*(i/(8*keys)%2) {
				m.put(key, i)
			} else {
				m.remove(key)
			}
			if rng.IntN(keys) == 0 && len(open) < 3 {
				ep.Cut()
				open = append(open, snapshot{m.d.View(), maps.Clone(m.want)})
			}
			if rng.IntN(2*keys) == 0 && len(open) > 0 {
				at := rng.IntN(len(open))
				requireSame(t, open[at].want, content(open[at].view))
				require.Equal(t, len(open[at].want), open[at].view.Len())
				open = append(open[:at], open[at+1:]...)
				ep.Release()
				m.verify()
			}
		}
	}
}

// TestViewIsReadWhileWriting is for the race detector.
func TestViewIsReadWhileWriting(t *testing.T) {
	rng := newRand(t)
	var ep cow.Epoch
	m := newModel(t, &ep)
	const keys = 3000
	for i := range keys / 2 {
		m.put(strconv.Itoa(i), i)
	}
	for round := range 10 {
		ep.Cut()
		view, want := m.d.View(), maps.Clone(m.want)
		var got map[string]int
		var reader sync.WaitGroup
		reader.Go(func() { got = content(view) })
		for i := range 2 * keys {
			if key := strconv.Itoa(rng.IntN(keys)); rng.IntN(10) < 2+6*(round%2) {
				m.put(key, i)
			} else {
				m.remove(key)
			}
		}
		reader.Wait()
		requireSame(t, want, got)
		ep.Release()
	}
	m.verify()
}

// TestCloneLeavesTheOldHeaderAlone: the old dict is read by a goroutine while
// the clone is written to.
func TestCloneLeavesTheOldHeaderAlone(t *testing.T) {
	rng := newRand(t)
	for _, keys := range []int{5, 200, 3000} {
		var ep cow.Epoch
		m := newModel(t, &ep)
		for i := range keys {
			m.put(strconv.Itoa(i), i)
		}
		for range 5 {
			ep.Cut()
			old, want := m.d, maps.Clone(m.want)
			m.d = old.Clone()
			var got map[string]int
			var reader sync.WaitGroup
			reader.Go(func() {
				got = map[string]int{}
				old.Each(func(key string, v *int) bool { got[key] = *v; return true })
			})
			for i := range 2 * keys {
				if key := strconv.Itoa(rng.IntN(keys)); rng.IntN(2) == 0 {
					m.put(key, -i)
				} else {
					m.remove(key)
				}
			}
			reader.Wait()
			requireSame(t, want, got)
			require.Equal(t, len(want), old.Len())
			ep.Release()
			m.verify()
		}
	}
}

func TestEachStops(t *testing.T) {
	m := newModel(t, &cow.Epoch{})
	for i := range 1000 {
		m.put(strconv.Itoa(i), i)
	}
	calls := 0
	m.d.View().Each(func(string, *int) bool { calls++; return calls < 300 })
	require.Equal(t, 300, calls)
}

func TestViewAt(t *testing.T) {
	m := newModel(t, &cow.Epoch{})
	for i := range 70_000 {
		m.put(strconv.Itoa(i), i)
	}
	w := m.d.View()
	for i := range w.Len() {
		key, v := w.At(i)
		require.Equal(t, strconv.Itoa(i), key)
		require.Equal(t, i, *v)
	}
}
