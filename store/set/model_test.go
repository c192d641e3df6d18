package set

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/store/listpack"
)

// source draws members. words of a hundred are strings, the others are numbers of all widths.
type source struct {
	rng   *rand.Rand
	kinds int // about the number of different members
	words int
}

func (r source) member(lim Limits) string {
	n := int64(r.rng.IntN(r.kinds))
	if r.rng.IntN(100) < r.words {
		return strings.Repeat("w", int(n)%(lim.Value+2)) + strconv.FormatInt(n, 10) + "x"
	}
	switch n % 7 {
	case 0:
		return strconv.FormatInt(n<<40, 10)
	case 1:
		return strconv.FormatInt(-n<<18, 10)
	}
	return strconv.FormatInt(n, 10)
}

func step(t testing.TB, r source, s *Edit, want map[string]bool, lim Limits) {
	member := r.member(lim)
	if s.Has([]byte(member)) != want[member] {
		t.Fatalf("Has of %q is %v", member, !want[member])
	}
	if r.rng.IntN(5) < 3 {
		if s.Add(lim, []byte(member)) == want[member] {
			t.Fatalf("Add of %q is %v", member, want[member])
		}
		want[member] = true
	} else {
		if s.Remove([]byte(member)) != want[member] {
			t.Fatalf("Remove of %q is %v", member, !want[member])
		}
		delete(want, member)
	}
	if s.Len() != len(want) {
		t.Fatalf("%d members, want %d", s.Len(), len(want))
	}
}

func sorted(want map[string]bool) []string { return slices.Sorted(maps.Keys(want)) }

func sortedContent(s *Edit) []string { return slices.Sorted(slices.Values(content(s))) }

// verify compares the results of every way of walking the set with the model.
func verify(t testing.TB, s *Edit, want map[string]bool, lim Limits) {
	t.Helper()
	members := sorted(want)
	require.True(t, slices.Equal(members, sortedContent(s)), "Each")
	var at, scanned []string
	for i := range s.Len() {
		at = append(at, string(s.At(i, nil)))
	}
	slices.Sort(at)
	require.True(t, slices.Equal(members, at), "At")
	for cursor := uint64(0); ; {
		cursor = s.Scan(cursor, 9, func(member []byte) { scanned = append(scanned, string(member)) })
		if cursor == 0 {
			break
		}
	}
	slices.Sort(scanned)
	require.True(t, slices.Equal(members, scanned), "Scan")
	require.Equal(t, content(s), walked(s), "Walk")
	if raw, ok := s.Intset(); ok {
		require.LessOrEqual(t, len(want), lim.IntsetEntries)
		require.Len(t, raw, intsetHeader+len(want)*int(raw[0]))
		for i := 1; i < s.Len(); i++ {
			require.Less(t, intset(raw).at(i-1), intset(raw).at(i))
		}
	}
	if lp, ok := s.Listpack(); ok {
		require.NoError(t, listpack.Validate(lp))
		require.LessOrEqual(t, len(want), lim.Entries)
	}
}

func TestAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, lim := range []Limits{limits, {IntsetEntries: 20, Entries: 30, Value: 10}, {IntsetEntries: 2000, Entries: 2000, Value: 100}} {
		for _, words := range []int{0, 1, 50} {
			for _, kinds := range []int{10, 120, 1500} {
				r := source{rng, kinds, words}
				s, want := newSet(), map[string]bool{}
				for i := range 2500 {
					step(t, r, s, want, lim)
					if i%250 == 0 {
						verify(t, s, want, lim)
					}
				}
				verify(t, s, want, lim)
			}
		}
	}
}

// TestSnapshotsAgainstModel cuts at random moments. The old header still has its content for another
// goroutine, while the clone is written to.
func TestSnapshotsAgainstModel(t *testing.T) {
	rng := newRand(t)
	for _, r := range []source{{rng, 50, 0}, {rng, 50, 40}, {rng, 2000, 1}} {
		var ep cow.Epoch
		s, want := newSetAt(&ep), map[string]bool{}
		for range 2 * r.kinds {
			step(t, r, s, want, limits)
		}
		for range 15 {
			ep.Cut()
			frozen, old := sorted(want), s
			var seen []string
			var length int
			var reader sync.WaitGroup
			reader.Go(func() { seen, length = sortedContent(old), old.Len() })
			require.True(t, ep.Shared(s.Stamp()))
			s = &Edit{s.Clone(s.common, nil), s.common, nil}
			require.False(t, ep.Shared(s.Stamp()))
			for range r.kinds {
				step(t, r, s, want, limits)
			}
			reader.Wait()
			require.True(t, slices.Equal(frozen, seen))
			require.Equal(t, len(frozen), length)
			ep.Release()
			verify(t, s, want, limits)
		}
	}
}

// FuzzOps runs a sequence of operations. A byte gives the operation and the length of the member, which
// follows.
func FuzzOps(f *testing.F) {
	f.Add([]byte("\x011\x0212\x03abc\x83abc\x811"))
	f.Add([]byte("\x0512345\x06-99999\x8512345\x041e10"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		lim := Limits{IntsetEntries: 6, Entries: 5, Value: 8}
		s, want := newSet(), map[string]bool{}
		for len(ops) > 0 {
			op, n := ops[0], min(int(ops[0]&0x1f), len(ops)-1)
			member := string(ops[1 : 1+n])
			ops = ops[1+n:]
			if op&0x80 == 0 {
				require.Equal(t, !want[member], s.Add(lim, []byte(member)))
				want[member] = true
			} else {
				require.Equal(t, want[member], s.Remove([]byte(member)))
				delete(want, member)
			}
			require.False(t, s.Has([]byte(member)) != want[member])
		}
		verify(t, s, want, lim)
	})
}
