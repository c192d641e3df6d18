package dict

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/tests/testkit"
)

// newRand returns a random source and logs its seed.
func newRand(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

// model is a dict, and a map with the entries that it should have. The number beside an entry follows from
// its value: see sideOf.
type model struct {
	t    testing.TB
	d    *Dict[int]
	want map[string]int
}

// sideOf returns the number beside an entry with a value. Few values have one, so that some chunks have none.
func sideOf(v int) int64 {
	if v%40 == 0 {
		return int64(v)
	}
	return 0
}

func newModel(t testing.TB, ep *cow.Epoch) *model {
	return &model{t: t, d: New[int](ep, maphash.MakeSeed()), want: map[string]int{}}
}

func (m *model) put(key string, v int) {
	h := m.d.Hash([]byte(key))
	at := m.d.Find(h, []byte(key))
	_, present := m.want[key]
	if present != (at >= 0) {
		m.t.Fatalf("key %q: found at %d, in the model: %v", key, at, present)
	}
	if present {
		*m.d.Mut(at) = v
	} else {
		at = m.d.Insert(h, []byte(key), v)
		if m.d.Side(at) != 0 {
			m.t.Fatalf("key %q is new, and has %d beside it", key, m.d.Side(at))
		}
	}
	m.d.SetSide(at, sideOf(v))
	m.want[key] = v
}

func (m *model) remove(key string) {
	h := m.d.HashString(key)
	at := m.d.FindString(h, key)
	_, present := m.want[key]
	if present != (at >= 0) {
		m.t.Fatalf("key %q: found at %d, in the model: %v", key, at, present)
	}
	if present {
		m.d.Delete(h, at)
		delete(m.want, key)
	}
}

func (m *model) verify() {
	m.t.Helper()
	require.NoError(m.t, m.d.check())
	require.Equal(m.t, len(m.want), m.d.Len())
	got := map[string]int{}
	m.d.EachSided(func(key string, v *int, side int64) bool {
		if got[key] = *v; side != sideOf(*v) {
			m.t.Fatalf("key %q with value %d has %d beside it", key, *v, side)
		}
		return true
	})
	requireSame(m.t, m.want, got)
	m.verifyFindAll()
	for slot := range m.d.Len() {
		if key, v, side := m.d.Sided(slot); sideOf(*v) != side || m.d.Side(slot) != side {
			m.t.Fatalf("key %q with value %d has %d beside it", key, *v, side)
		}
	}
}

// verifyFindAll looks up all keys, and the same number of missing keys, several at a time.
func (m *model) verifyFindAll() {
	m.t.Helper()
	var keys [][]byte
	for key := range m.want {
		keys = append(keys, []byte(key), []byte(key+"?"))
	}
	slots := make([]int, Together)
	for some := range slices.Chunk(keys, 1+len(keys)%Together) {
		m.d.FindAll(some, slots)
		for i, key := range some {
			if want := m.d.Find(m.d.Hash(key), key); slots[i] != want { // a call of require costs more than all the rest
				require.Equal(m.t, want, slots[i], "key %q", key)
			}
		}
	}
}

// requireSame compares maps and reports one difference, because a full report of large maps takes longer than
// the test.
func requireSame(t testing.TB, want, got map[string]int) {
	t.Helper()
	require.Equal(t, len(want), len(got), "entries")
	for k, v := range want {
		if have, ok := got[k]; !ok || v != have {
			require.True(t, ok, "key %q is missing", k)
			require.Equal(t, v, have, "value of key %q", k)
		}
	}
}

func TestEmpty(t *testing.T) {
	d := New[int](&cow.Epoch{}, maphash.MakeSeed())
	require.Equal(t, -1, d.FindString(d.HashString("k"), "k"))
	require.Zero(t, d.Len())
	require.Zero(t, d.Scan(0, 10, func(string, *int) { t.Fatal("entry in an empty dict") }))
	d.Each(func(string, *int) bool { t.Fatal("entry in an empty dict"); return true })
	require.Zero(t, d.View().Len())
	require.NoError(t, d.check())
}

func TestAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, keys := range []int{6, 12, 100, 700, 5000, 20000} {
		t.Run(strconv.Itoa(keys), func(t *testing.T) {
			m := newModel(t, &cow.Epoch{})
			key := func() string { return "key:" + strconv.Itoa(rng.IntN(keys)) }
			for phase := range testkit.Steps(3, 5) {
				// Phases mostly insert or mostly delete, in turn, so that the table passes through all sizes
				// in both directions.
				lean := []int{9, 5, 1, 5}[phase%4]
				for i := range 3 * keys {
					if rng.IntN(10) < lean {
						m.put(key(), i)
					} else {
						m.remove(key())
					}
				}
				m.verify()
			}
			for len(m.want) > 0 {
				k, _ := m.d.At(rng.IntN(m.d.Len()))
				m.remove(k)
				if len(m.want)%257 == 0 {
					m.verify()
				}
			}
		})
	}
}

func TestOrderDependsOnHistoryOnly(t *testing.T) {
	var orders [2][]string
	for i := range orders {
		d := New[struct{}](&cow.Epoch{}, maphash.MakeSeed())
		for k := range 1000 {
			key := strconv.Itoa(k)
			d.InsertString(d.HashString(key), key, struct{}{})
		}
		for k := 0; k < 1000; k += 3 {
			key := strconv.Itoa(k)
			h := d.HashString(key)
			d.Delete(h, d.FindString(h, key))
		}
		d.Each(func(key string, _ *struct{}) bool { orders[i] = append(orders[i], key); return true })
	}
	require.Equal(t, orders[0], orders[1])
}

func TestMemoryComesBack(t *testing.T) {
	d := New[int](&cow.Epoch{}, maphash.MakeSeed())
	const n = 200_000
	for i := range n {
		k := strconv.Itoa(i)
		d.InsertString(d.HashString(k), k, i)
	}
	require.Greater(t, len(d.index.dir), 32)
	require.Len(t, d.pages, (n-1)/(pageSize*chunkSize)+1)
	rng := newRand(t)
	for d.Len() > 3 {
		at := rng.IntN(d.Len())
		k, _ := d.At(at)
		d.Delete(d.HashString(k), at)
		if n := d.Len(); n&(n-1) == 0 {
			require.NoError(t, d.check())
			cells := 0
			for i, s := range d.index.dir {
				if i == 0 || s != d.index.dir[i-1] {
					cells += s.cells.len()
				}
			}
			require.Less(t, cells, 8*n+2*maxCells, "cells at %d entries", n)
			require.LessOrEqual(t, len(d.index.dir), 1+n/dirPerEntry, "directory at %d entries", n)
		}
	}
	require.Nil(t, d.index.dir)
	require.Len(t, d.pages, 1)
	require.Len(t, d.pages[0].chunks, 1)
	require.LessOrEqual(t, len(d.pages[0].chunks[0].slots), 8)
}

// TestScanGuarantee: an entry that stays is returned, whatever is inserted and deleted between the calls.
func TestScanGuarantee(t *testing.T) {
	rng := newRand(t)
	for round := range 60 {
		m := newModel(t, &cow.Epoch{})
		for i := range 1 + rng.IntN(2000) {
			m.put("k"+strconv.Itoa(i), i)
		}
		stays := map[string]bool{}
		for k := range m.want {
			stays[k] = true
		}
		seen := map[string]int{}
		cursor, calls := uint64(0), 0
		for {
			cursor = m.d.Scan(cursor, 1+rng.IntN(40), func(key string, v *int) {
				require.Equal(t, m.want[key], *v)
				seen[key]++
			})
			if cursor == 0 {
				break
			}
			calls++
			require.Less(t, calls, 10_000, "the scan ends")
			for range rng.IntN(60) {
				if k := "k" + strconv.Itoa(rng.IntN(3000)); rng.IntN(3) == 0 {
					m.put(k, round)
				} else {
					m.remove(k)
					delete(stays, k)
				}
			}
		}
		for k := range stays {
			require.NotZero(t, seen[k], "%s stayed and was not seen", k)
		}
	}
}

func TestScanOfAQuietDictSeesAllOnce(t *testing.T) {
	m := newModel(t, &cow.Epoch{})
	for i := range 777 {
		m.put(strconv.Itoa(i), i)
	}
	seen := map[string]int{}
	cursor := uint64(0)
	for {
		before := len(seen)
		cursor = m.d.Scan(cursor, 10, func(key string, v *int) { seen[key]++ })
		require.LessOrEqual(t, len(seen)-before, 10)
		if cursor == 0 {
			break
		}
	}
	require.Len(t, seen, 777)
	for k, times := range seen {
		require.Equal(t, 1, times, k)
	}
	require.Zero(t, m.d.Scan(1<<63, 1000, func(string, *int) {}), "a cursor from elsewhere is clamped")
	require.Equal(t, uint64(776), m.d.Scan(1<<63, -5, func(string, *int) {}), "a count below 1 counts as 1")
}

// TestCollidingTags fills the index with tags that a random hash does not give: it must stay correct and must
// not grow without limit.
func TestCollidingTags(t *testing.T) {
	tags := map[string]func(i int) uint32{
		"one":      func(int) uint32 { return 0xdeadbeef },
		"largest":  func(int) uint32 { return ^uint32(0) },
		"zero":     func(int) uint32 { return 0 },
		"low bits": func(i int) uint32 { return uint32(i) },
		"two":      func(i int) uint32 { return uint32(i%2) << 31 },
	}
	n := testkit.Steps(2_000, 6_000)
	for name, tag := range tags {
		t.Run(name, func(t *testing.T) {
			x := newIndex(1)
			for i := range n {
				x.insert(tag(i), i, i+1)
			}
			require.NoError(t, x.check(n))
			require.LessOrEqual(t, len(x.dir), 2*n/dirPerEntry+2)
			for i := range n {
				if x.segment(tag(i)).locate(tag(i), i) < 0 {
					require.Fail(t, "a slot is missing", "slot %d", i)
				}
			}
			for i := range n {
				x.remove(tag(i), i, n)
			}
			require.NoError(t, x.check(0))
			require.Len(t, x.dir, 1)
			require.Less(t, x.dir[0].cells.len(), maxCells)
		})
	}
}

// TestHighSlots: a few entries have slots far above those that a small index expects. Random tags never cause
// that; tags in a small range may.
func TestHighSlots(t *testing.T) {
	rng := newRand(t)
	tags := map[string]func() uint32{
		"one":    func() uint32 { return 0xdeadbeef },
		"two":    func() uint32 { return rng.Uint32() & (1 << 31) },
		"random": rng.Uint32,
		"low":    func() uint32 { return rng.Uint32N(1000) },
		"high":   func() uint32 { return ^rng.Uint32N(1000) },
	}
	for name, tag := range tags {
		for _, most := range []int{1<<16 - 1, 1 << 16, 1<<20 + 12345, 1<<16 - 2, 1 << 22}[:testkit.Steps(3, 5)] {
			t.Run(fmt.Sprintf("%s/%d", name, most), func(t *testing.T) {
				x, total := newIndex(1), most+1
				slots, taken := make([]int, 0, testkit.Steps(1200, 2000)), map[int]bool{}
				for len(slots) < cap(slots) {
					if slot := rng.IntN(most); !taken[slot] {
						slots, taken[slot] = append(slots, slot), true
					}
				}
				slots[len(slots)/2] = most
				of := map[int]uint32{}
				for _, slot := range slots {
					of[slot] = tag()
					x.insert(of[slot], slot, total)
				}
				found := func() {
					require.NoError(t, x.check(len(of)))
					for slot, tag := range of {
						if at, beyond := x.segment(tag).locate(tag, slot), x.segment(tag).locate(tag, most+1); at < 0 || beyond >= 0 {
							require.Fail(t, "a slot is not where it belongs", "slot %d is at %d, slot %d at %d", slot, at, most+1, beyond)
						}
					}
				}
				found()
				lowest := 0
				for _, slot := range slots { // as after the removal of all other entries
					for has := true; has; lowest++ {
						_, has = of[lowest]
					}
					lowest--
					if tag := of[slot]; lowest < slot {
						x.move(tag, slot, lowest)
						delete(of, slot)
						of[lowest] = tag
					}
				}
				found()
				for slot, tag := range of {
					x.remove(tag, slot, len(slots))
					if delete(of, slot); len(of)%500 == 0 {
						found()
					}
				}
				found()
			})
		}
	}
}

// TestFindAllOfKeysWithOneTag looks up keys that the index cannot distinguish. The result must not depend on
// which of them are in the dict, nor on the order of the cells.
func TestFindAllOfKeysWithOneTag(t *testing.T) {
	seed := maphash.MakeSeed()
	twins := sameTag(t, seed)
	for _, in := range [][]int{{}, {0}, {1}, {0, 1}, {1, 0}} {
		d := New[int](&cow.Epoch{}, seed)
		for i := range 100 {
			key := []byte(strconv.Itoa(i))
			d.Insert(d.Hash(key), key, i)
		}
		want := []int{-1, -1}
		for _, i := range in {
			want[i] = d.Insert(d.Hash(twins[i]), twins[i], i)
		}
		slots := make([]int, 2)
		d.FindAll(twins, slots)
		require.Equal(t, want, slots, "with %v", in)
	}
}

// sameTag returns two keys with hashes that have the same first 32 bits. Among a million keys there are about
// a hundred such pairs.
func sameTag(t *testing.T, seed maphash.Seed) [][]byte {
	seen := map[uint32]string{}
	for i := range 1_000_000 {
		key := fmt.Sprintf("twin:%d", i)
		tag := uint32(maphash.String(seed, key) >> 32)
		if other, ok := seen[tag]; ok {
			return [][]byte{[]byte(other), []byte(key)}
		}
		seen[tag] = key
	}
	t.Fatal("no two of a million keys have the same tag")
	return nil
}

func TestFindAllDoesNotAllocate(t *testing.T) {
	m := newModel(t, &cow.Epoch{})
	keys, slots := [][]byte{}, make([]int, Together)
	for i := range 5000 {
		key := fmt.Sprintf("key:%06d", i)
		m.put(key, i)
		if len(keys) < Together {
			keys = append(keys, []byte(key))
		}
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { m.d.FindAll(keys, slots) }))
}

func TestFindAndMutDoNotAllocate(t *testing.T) {
	m := newModel(t, &cow.Epoch{})
	for i := range 5000 {
		m.put(fmt.Sprintf("key:%06d", i), i)
	}
	key := []byte("key:004321")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		*m.d.Mut(m.d.Find(m.d.Hash(key), key))++
	}))
}

// TestReserve: a dict with a hint of the number of entries works like any other, whatever the real number is.
func TestReserve(t *testing.T) {
	rng := newRand(t)
	for _, expected := range []int{0, 8, 9, 100, mostExpected, mostExpected + 1, 5_000, 40_000}[:testkit.Steps(7, 8)] {
		for _, n := range []int{0, 1, 4, 9, expected / 2, expected, 2 * expected} {
			m := newModel(t, &cow.Epoch{})
			m.d.Reserve(expected)
			m.verify()
			segments, cells := m.d.index.size()
			for i := range n {
				m.put(strconv.Itoa(i), i)
			}
			m.verify()
			if n == expected && expected >= 100 {
				now, nowCells := m.d.index.size()
				require.LessOrEqual(t, now, segments+1, "hardly any segment is split")
				require.LessOrEqual(t, nowCells, cells+max(cells/10, maxCells))
				require.LessOrEqual(t, cells, 2*n+64)
			}
			m.d.Reserve(1_000_000)
			if again, _ := m.d.index.size(); n > 0 {
				require.Less(t, again, 1_000, "it is not empty")
			}
			for i := range n {
				if rng.IntN(10) > 0 {
					m.remove(strconv.Itoa(i))
				}
			}
			m.verify()
		}
	}
}

// size returns the numbers of segments and cells of an index.
func (x *index) size() (segments, cells int) {
	var last *segment
	for _, s := range x.dir {
		if s != last {
			segments++
			cells += s.cells.len()
		}
		last = s
	}
	return segments, cells
}
