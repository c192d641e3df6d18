package hash

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/store/listpack"
)

// step makes one random change to a hash and its model and compares the results.
func step(t testing.TB, rng *rand.Rand, h *Edit, want map[string]string, lim Limits, fields int) {
	field := "f" + strconv.Itoa(rng.IntN(fields))
	if rng.IntN(2) == 0 {
		field = strconv.Itoa(rng.IntN(fields) * 97)
	}
	old, present := want[field]
	got, ok := h.Get(nil, []byte(field))
	if ok != present || string(got) != old {
		t.Fatalf("field %q is %q, %v; want %q, %v", field, got, ok, old, present)
	}
	switch rng.IntN(6) {
	case 0, 1:
		value := strings.Repeat("v", rng.IntN(lim.Value+1))
		if h.Set(lim, []byte(field), []byte(value)) == present {
			t.Fatalf("Set of %q: added is %v", field, !present)
		}
		want[field] = value
	case 2, 3:
		n := rng.Int64() >> rng.IntN(64)
		if h.SetInt(lim, []byte(field), n) == present {
			t.Fatalf("SetInt of %q: added is %v", field, !present)
		}
		want[field] = strconv.FormatInt(n, 10)
	default:
		if h.Delete([]byte(field)) != present {
			t.Fatalf("Delete of %q: %v", field, !present)
		}
		delete(want, field)
	}
	if h.Len() != len(want) || h.Has([]byte(field)) != (want[field] != "" || hasKey(want, field)) {
		t.Fatalf("after %q: %d fields, want %d", field, h.Len(), len(want))
	}
}

func hasKey(m map[string]string, k string) bool {
	_, ok := m[k]
	return ok
}

func TestAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, lim := range []Limits{limits, {Entries: 1000, Value: 300}, {Entries: 8, Value: 30}, {Entries: 0, Value: 5}} {
		for _, fields := range []int{4, 40, 400} {
			h, want := newHash(), map[string]string{}
			for i := range 3000 {
				step(t, rng, h, want, lim, fields)
				if i%100 == 0 {
					verify(t, h, want, lim)
				}
			}
			verify(t, h, want, lim)
		}
	}
}

// verify compares the results of every way of walking the hash with the model.
func verify(t testing.TB, h *Edit, want map[string]string, lim Limits) {
	t.Helper()
	require.Equal(t, want, content(h.Hash))
	if h.table() != nil { // its weight follows from its present content
		fresh := newHash()
		fresh.convert()
		for field, value := range want {
			fresh.put([]byte(field), []byte(value))
		}
		require.Equal(t, fresh.Size(), h.Size())
	}
	at, scanned := map[string]string{}, map[string]string{}
	for i := range h.Len() {
		field, value := h.At(i, nil)
		at[string(field)] = string(value)
	}
	require.Equal(t, want, at)
	for cursor := uint64(0); ; {
		cursor = h.Scan(cursor, 7, func(field, value []byte) { scanned[string(field)] = string(value) })
		if cursor == 0 {
			break
		}
	}
	require.Equal(t, want, scanned)
	if lp, ok := h.Listpack(); ok {
		require.NoError(t, listpack.Validate(lp))
		require.Equal(t, 2*len(want), lp.Len())
		require.LessOrEqual(t, len(want), max(lim.Entries, 0))
	}
}

// TestSnapshotsAgainstModel cuts at random moments. The old header still has its content for another
// goroutine, while the clone is written to.
func TestSnapshotsAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, fields := range []int{3, 60, 2000} {
		var ep cow.Epoch
		h, want := newHashAt(&ep), map[string]string{}
		for range 2 * fields {
			step(t, rng, h, want, limits, fields)
		}
		for range 15 {
			ep.Cut()
			frozen, old := maps.Clone(want), h.Hash
			var seen map[string]string
			var length int
			var reader sync.WaitGroup
			reader.Go(func() { seen, length = content(old), old.Len() })
			require.True(t, ep.Shared(h.Stamp()))
			h.Hash = h.Clone(h.common, nil)
			require.False(t, ep.Shared(h.Stamp()))
			for range fields {
				step(t, rng, h, want, limits, fields)
			}
			reader.Wait()
			require.Equal(t, frozen, seen)
			require.Equal(t, len(frozen), length)
			ep.Release()
			require.Equal(t, want, content(h.Hash))
		}
	}
}

// TestScanGuarantee: a field that stays is returned although others come and go.
func TestScanGuarantee(t *testing.T) {
	rng := newRand(t)
	for range 50 {
		h := newHash()
		stays := map[string]bool{}
		for i := range 300 {
			f := "f" + strconv.Itoa(i)
			h.Set(limits, []byte(f), []byte("v"))
			stays[f] = true
		}
		seen := map[string]bool{}
		for cursor := uint64(0); ; {
			cursor = h.Scan(cursor, 1+rng.IntN(20), func(field, _ []byte) { seen[string(field)] = true })
			if cursor == 0 {
				break
			}
			for range rng.IntN(20) {
				f := "f" + strconv.Itoa(rng.IntN(500))
				if rng.IntN(2) == 0 {
					h.Set(limits, []byte(f), []byte("w"))
				} else {
					h.Delete([]byte(f))
					delete(stays, f)
				}
			}
		}
		for f := range stays {
			require.True(t, seen[f], f)
		}
	}
}
