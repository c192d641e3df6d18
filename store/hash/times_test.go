package hash

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/store/listpack"
)

// TestHeaderSize: a small hash takes a word and its listpack. A hash without deadlines takes nothing for
// them.
func TestHeaderSize(t *testing.T) {
	require.Equal(t, uintptr(8), unsafe.Sizeof(Hash{}))
	require.LessOrEqual(t, unsafe.Sizeof(full{}), uintptr(48))
}

// deadlines returns the deadlines of a hash's fields, and checks that all ways to read them agree.
func deadlines(t testing.TB, h *Hash) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	least := int64(0)
	h.EachTimed(func(field, value []byte, atMS int64) bool {
		if atMS != 0 {
			got[string(field)] = atMS
			if least == 0 || atMS < least {
				least = atMS
			}
		}
		return true
	})
	require.Len(t, got, h.Timed())
	require.Equal(t, least, h.LeastDeadline())
	return got
}

// checkTimes is deadlines for a hash that is open for writing, with checks of the data that only such a hash
// has.
func checkTimes(t testing.TB, h *Edit, want map[string]int64) {
	t.Helper()
	require.Equal(t, want, deadlines(t, h.Hash))
	field, atMS, ok := h.FirstDeadline()
	require.Equal(t, len(want) > 0, ok)
	if ok {
		require.Equal(t, h.LeastDeadline(), atMS)
		require.Equal(t, want[field], atMS)
	}
	last := int64(0)
	for name, at := range want {
		last = max(last, at)
		require.Equal(t, at, h.Deadline([]byte(name)))
	}
	require.Equal(t, len(want) > 0 && len(want) == h.Len(), h.AllOverdue(last))
	require.False(t, h.AllOverdue(last-1))
	if ts := h.times(); ts != nil && ts.trees() != nil {
		require.Equal(t, byField(ts).Len(), byTime(ts).Len())
		require.Empty(t, ts.few)
	}
}

// TestTimesAgainstModel: few and many deadlines, of small hashes and tables, with snapshots that keep theirs.
func TestTimesAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, fields := range []int{3, 20, 60, 300} {
		var ep cow.Epoch
		h := newHashAt(&ep)
		want, has := map[string]int64{}, map[string]bool{}
		var frozen *Hash
		var old map[string]int64
		for i := range 4000 {
			name := "f" + strconv.Itoa(rng.IntN(fields))
			field := []byte(name)
			switch rng.IntN(8) {
			case 0, 1:
				require.Equal(t, !has[name], h.Set(limits, field, []byte("v")))
				has[name] = true
			case 2, 3, 4:
				at := 1 + rng.Int64N(50)
				require.Equal(t, has[name], h.SetDeadline(field, at))
				if has[name] {
					want[name] = at
				}
			case 5:
				require.Equal(t, want[name] != 0, h.Persist(field))
				delete(want, name)
			case 6:
				require.Equal(t, has[name], h.Delete(field))
				delete(has, name)
				delete(want, name)
			case 7:
				if first, at, ok := h.FirstDeadline(); ok { // as a store does
					require.Equal(t, want[first], at)
					require.True(t, h.Delete([]byte(first)))
					delete(has, first)
					delete(want, first)
				}
			}
			if i%50 == 0 {
				checkTimes(t, h, want)
				checkTimes(t, &Edit{h.Copy(h.common, nil, limits), h.common, nil}, want)
				if frozen != nil {
					require.Equal(t, old, deadlines(t, frozen))
					ep.Release()
				}
				ep.Cut()
				frozen, old = h.Hash, maps.Clone(want)
				h.Hash = h.Clone(h.common, nil)
			}
		}
	}
}

// TestManyTimes: the slice becomes trees, and stays so.
func TestManyTimes(t *testing.T) {
	h := newHash()
	for i := range 2 * maxFew {
		name := fmt.Append(nil, "f", i)
		h.Set(limits, name, []byte("v"))
		require.True(t, h.SetDeadline(name, int64(1000-i)))
		require.Equal(t, i < maxFew, h.times().trees() == nil)
		field, atMS, _ := h.FirstDeadline()
		require.Equal(t, string(name), field)
		require.Equal(t, int64(1000-i), atMS)
	}
	h.SetAlarm("mine")
	require.Equal(t, "mine", h.Clone(h.common, nil).Alarm())
	require.Nil(t, h.Copy(h.common, nil, limits).Alarm())
	require.Equal(t, "listpackex", h.Encoding())
	for i := range 2 * maxFew {
		require.True(t, h.Persist(fmt.Append(nil, "f", i)))
	}
	require.Zero(t, h.Timed())
	require.Equal(t, "listpackex", h.Encoding())
	require.False(t, h.SetDeadline([]byte("none"), 5))
	require.Zero(t, h.Deadline([]byte("none")))
}

// TestSpare: a hash in memory of a removed one is equal to one in new memory.
func TestSpare(t *testing.T) {
	rng := newRand(t)
	var ep cow.Epoch
	common := newHashAt(&ep).common
	others := listpack.New().Append([]byte("$mode")).Append([]byte("sem")).Append([]byte("$limit"))
	var spare Spare
	type timed struct {
		*Hash
		field, value string
		atMS, n      int64
	}
	var live []timed
	for i := range 5000 {
		if len(live) > 0 && rng.IntN(100) < 45 {
			at := rng.IntN(len(live))
			gone := live[at]
			live = slices.Delete(live, at, at+1)
			w := EditOf(common, nil, gone.Hash)
			switch rng.IntN(4) {
			case 0:
				w.Set(limits, []byte("other"), []byte(strings.Repeat("x", rng.IntN(60))))
				w.SetDeadline([]byte("other"), 7)
			case 1:
				w.SetTally(&Tally{Sum: 5})
			case 2:
				w.SetQuiet(true)
			}
			spare.Keep(w.Hash)
			require.LessOrEqual(t, len(spare.of), mostSpare)
		}
		h := timed{field: "f" + strconv.Itoa(i), value: strings.Repeat("v", 1+rng.IntN(40)), atMS: 1 + rng.Int64N(100), n: rng.Int64N(1 << rng.IntN(40))}
		switch rng.IntN(10) {
		case 0:
			h.field = strings.Repeat("long", 1+rng.IntN(20))
		case 1:
			h.field = strconv.Itoa(i)
		}
		h.Hash = NewTimed(common, []byte(h.field), []byte(h.value), h.atMS, others, h.n, &spare)
		require.LessOrEqual(t, cap(h.lp())-len(h.lp()), mostSlack+8) // integers take less than expected
		live = append(live, h)
		h = live[rng.IntN(len(live))]
		want := Edit{NewTimed(common, []byte(h.field), []byte(h.value), h.atMS, others, h.n, nil), common, nil}
		require.Equal(t, want.lp(), h.lp())
		require.Equal(t, want.Size(), h.Size())
		require.False(t, h.Quiet())
		require.Nil(t, h.Tally())
		checkTimes(t, &Edit{h.Hash, common, nil}, map[string]int64{h.field: h.atMS})
		field, value, n, ok := h.FirstBefore(others)
		_, err := strconv.Atoi(h.field)
		require.Equal(t, err != nil && len(h.field) < 64, ok)
		if ok {
			require.Equal(t, []any{h.field, h.value, h.n}, []any{string(field), string(value), n})
		}
	}
	require.Positive(t, len(spare.of)+len(live))
}

// TestSpareDoesNotAllocate: the memory of a removed hash serves the next one.
func TestSpareDoesNotAllocate(t *testing.T) {
	common, others := newHash().common, listpack.New().Append([]byte("$limit"))
	owner, value := []byte("5b1f0d6e7a944c0b9a3e2f6f4f:000000000001"), []byte("$1790000000000000:1:0")
	var spare Spare
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		h := NewTimed(common, owner, value, 5, others, 100, &spare)
		spare.Keep(h)
	}), raceAllocs+0.0)
}

// TestPlace: fields are sorted by their deadlines. Of equal deadlines the last one placed comes first. Fields
// without a deadline come last, in the order in which they lost it.
func TestPlace(t *testing.T) {
	rng := newRand(t)
	for _, fields := range []int{1, 5, 100} {
		h := newHash()
		var order []string // the expected order
		at := map[string]int64{}
		for i := range fields {
			name := strconv.Itoa(i * 50)
			h.Set(Limits{Entries: 1000, Value: 100}, []byte(name), []byte("v"+name))
			order = append(order, name)
		}
		h.AllowDeadlines()
		for range 500 {
			name := order[rng.IntN(fields)]
			at[name] = max(0, rng.Int64N(40)-10)
			if at[name] == 0 {
				h.Persist([]byte(name))
			} else {
				h.SetDeadline([]byte(name), at[name])
			}
			h.Place([]byte(name))
			order = slices.DeleteFunc(order, func(other string) bool { return other == name })
			to := len(order)
			if at[name] != 0 {
				to = slices.IndexFunc(order, func(other string) bool { return at[other] == 0 || at[other] >= at[name] })
			}
			if to < 0 {
				to = len(order)
			}
			order = slices.Insert(order, to, name)
			var got []string
			h.EachTimed(func(field, value []byte, atMS int64) bool {
				require.Equal(t, "v"+string(field), string(value))
				require.Equal(t, at[string(field)], atMS)
				got = append(got, string(field))
				return true
			})
			require.Equal(t, order, got)
		}
	}
}
