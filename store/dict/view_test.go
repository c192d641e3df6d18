package dict

import (
	"maps"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/tests/testkit"
)

// content returns the entries of a view. An entry with the wrong number beside it gets the value -1.
func content(w View[int]) map[string]int {
	got := map[string]int{}
	w.Each(func(key string, v *int, side int64) bool {
		if got[key] = *v; side != sideOf(*v) {
			got[key] = -1
		}
		return true
	})
	return got
}

// TestViewsAgainstModel takes views at random moments, several at a time, and compares each with a copy of
// the model from that moment.
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

// TestCloneLeavesTheOldHeaderAlone: a goroutine reads the old dict while the clone is written to.
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
	m.d.View().Each(func(string, *int, int64) bool { calls++; return calls < 300 })
	require.Equal(t, 300, calls)
}

func TestViewAt(t *testing.T) {
	m := newModel(t, &cow.Epoch{})
	for i := range 70_000 {
		m.put(strconv.Itoa(i), i)
	}
	w := m.d.View()
	for i := range w.Len() {
		key, v, side := w.At(i)
		require.Equal(t, strconv.Itoa(i), key)
		require.Equal(t, i, *v)
		require.Equal(t, sideOf(i), side)
	}
}

// TestDrainedChunksAreWrittenInPlace: a chunk that the only snapshot has read is not copied again. A chunk
// that the snapshot has yet to read is copied.
func TestDrainedChunksAreWrittenInPlace(t *testing.T) {
	var ep cow.Epoch
	m := newModel(t, &ep)
	const keys = 3 * chunkSize * pageSize / 2
	for i := range keys {
		m.put(strconv.Itoa(i), i)
	}
	array := func(slot int) *slot[int] { return m.d.slot(slot - slot%chunkSize) }
	ep.Cut()
	w := m.d.View()
	before := [3]*slot[int]{array(0), array(keys / 2), array(keys - 1)}
	seen := 0
	w.Drain(func(string, *int, int64) bool { seen++; return seen < keys/2+2*chunkSize })
	for _, at := range []int{0, keys / 2, keys - 1} {
		m.put(strconv.Itoa(at), -1)
	}
	require.Same(t, before[0], array(0))
	require.Same(t, before[1], array(keys/2))
	require.NotSame(t, before[2], array(keys-1))

	ep.Cut() // another snapshot reads chunks that the first has finished
	second, want := m.d.View(), maps.Clone(m.want)
	for _, at := range []int{0, keys / 2, keys - 1} {
		m.put(strconv.Itoa(at), -2)
	}
	require.NotSame(t, before[0], array(0))
	ep.Release()
	second.Drain(func(string, *int, int64) bool { return true })
	copied := array(1)
	m.put("1", -3)
	require.Same(t, copied, array(1), "copied already")
	kept := array(keys / 3)
	m.put(strconv.Itoa(keys/3), -3)
	require.NotSame(t, kept, array(keys/3), "which of the two snapshots was released the dict does not know")
	requireSame(t, want, contentOf(second.pages, second.n))
	ep.Release()
	m.verify()
}

func contentOf(pages []*page[int], n int) map[string]int {
	got := map[string]int{}
	each(pages, n, nil, func(key *Key, v *int, _ int64) bool { got[key.String()] = *v; return true })
	return got
}

// TestDrainWhileWriting is TestViewIsReadWhileWriting for views that report their progress. Several run one
// after the other, so that arrays are reused within a snapshot and by the next. Sometimes one is cancelled,
// or another snapshot begins meanwhile; they end in any order.
func TestDrainWhileWriting(t *testing.T) {
	rng := newRand(t)
	const keys = 3 * chunkSize * pageSize / 2
	var ep cow.Epoch
	m := newModel(t, &ep)
	for i := range keys {
		m.put(strconv.Itoa(i), i)
	}
	write := func(n int) {
		for i := range n {
			if key := strconv.Itoa(rng.IntN(keys)); rng.IntN(100) < 93 {
				m.put(key, i)
			} else {
				m.remove(key)
			}
		}
	}
	for round := range testkit.Steps(5, 12) {
		ep.Cut()
		want, got, view := maps.Clone(m.want), map[string]int{}, m.d.View()
		stopAt, released := view.Len(), round%3 == 1
		if round%4 == 3 {
			stopAt /= 2
		}
		step, paused := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(paused)
			seen := 0
			view.Drain(func(key string, v *int, side int64) bool {
				if seen++; seen%(view.Len()/4) == 0 {
					paused <- struct{}{}
					<-step
				}
				if got[key] = *v; side != sideOf(*v) {
					got[key] = -1
				}
				return seen < stopAt
			})
		}()
		for running := true; running; {
			write(200) // at the same time as the reader
			if _, running = <-paused; running {
				write(500)
				step <- struct{}{}
			}
		}
		if stopAt == view.Len() {
			requireSame(t, want, got)
		} else {
			require.Len(t, got, stopAt)
		}
		if released {
			ep.Cut()
			second, wantSecond := m.d.View(), maps.Clone(m.want)
			ep.Release() // the epoch of the first snapshot
			m.d.EndView()
			write(500)
			requireSame(t, wantSecond, content(second))
		}
		ep.Release()
		m.d.EndView()
		m.verify()
	}
}

// TestSparesAreUsedAgain counts the allocations of copies. A snapshot reuses the arrays and pages that it has
// finished. The next one begins with all of them, unless the collector has run.
func TestSparesAreUsedAgain(t *testing.T) {
	const pages = 8
	var ep cow.Epoch
	m := newModel(t, &ep)
	for i := range pages*pageSize*chunkSize + 3 { // the last chunk is not full: the slots behind its entries must be cleared
		m.put(strconv.Itoa(i), i)
	}
	snapshot := func() (arrays, fresh int) {
		ep.Cut()
		view := m.d.View()
		strong := m.d.spares // a strong reference, against the collector
		known := map[*slot[int]]bool{}
		for _, stack := range strong.free {
			for _, a := range stack {
				known[&a[0]] = true
			}
		}
		knownPages := map[*page[int]]bool{}
		for _, p := range strong.freePages {
			knownPages[p] = true
		}
		for p := range pages {
			knownPages[view.pages[p]] = true
			for j := range pageSize {
				known[&view.pages[p].chunks[j].slots[0]] = true
			}
		}
		seen := 0
		view.Drain(func(string, *int, int64) bool {
			if seen++; seen%(pageSize*chunkSize) == 1 { // at the first entry of each page, half of the next page is written to
				next := seen - 1 + pageSize*chunkSize
				for at := next; at < min(m.d.Len(), next+pageSize*chunkSize/2); at += chunkSize {
					*m.d.Mut(at) += 1
					if !known[m.d.slot(at)] {
						arrays++
					}
				}
				if number := next / (pageSize * chunkSize); number < pages && !knownPages[m.d.pages[number]] {
					fresh++
				}
			}
			return true
		})
		ep.Release()
		m.d.EndView()
		runtime.KeepAlive(strong)
		return arrays, fresh
	}
	requireFresh := func(arrays, pages int, why string) {
		t.Helper()
		gotArrays, gotPages := snapshot()
		require.Equal(t, arrays, gotArrays, why)
		require.Equal(t, pages, gotPages, why)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	requireFresh(pageSize, 2, "what was copied of a page is free when the page after it begins")
	requireFresh(0, 0, "all of it is free when the next snapshot begins")
	runtime.GC()
	runtime.GC()
	requireFresh(pageSize, 2, "spares are garbage between snapshots")
	require.NoError(t, m.d.check())
}
