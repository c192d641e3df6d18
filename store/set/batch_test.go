package set

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// walked returns the members as a Walk returns them.
func walked(s *Edit) []string { return walkedBy(&Walk{}, s) }

func walkedBy(w *Walk, s *Edit) []string {
	got := []string{}
	for members := w.Begin(s.Set); len(members) > 0; members = w.Next() {
		got = append(got, texts(members)...)
	}
	return got
}

// TestWalkIsUsedAgain: a walk that has ended, or was abandoned, keeps no state of it, and keeps nothing
// alive.
func TestWalkIsUsedAgain(t *testing.T) {
	var w Walk
	require.Empty(t, w.Begin(nil))
	for _, s := range []*Edit{newSet(), of(limits, numbers(200)...), of(limits, append(names(120), "5")...), of(limits, names(300)...)} {
		require.Len(t, w.Begin(s.Set), min(s.Len(), BatchSize))
		w.End()
		require.Zero(t, w.members)
		require.Equal(t, content(s), walkedBy(&w, s))
		require.Zero(t, w.members)
		require.Nil(t, w.s)
	}
}

// TestWhichAgainstHas looks up members of a set of each form and size, other members, and members that only
// look similar. They come in any order and number at a time.
func TestWhichAgainstHas(t *testing.T) {
	rng := newRand(t)
	for _, s := range []*Edit{
		newSet(), of(limits, "7"), of(limits, numbers(200)...), of(limits, "-9223372036854775808", "-70000", "-1", "300", "9223372036854775807"),
		of(limits, "m"), of(limits, names(100)...), of(limits, append(numbers(100), names(28)...)...), of(limits, "", "1", "01", "x"),
		of(limits, numbers(700)...), of(limits, names(700)...), of(limits, append(numbers(200), names(200)...)...),
		of(Limits{Entries: 1000, Value: 64}, append(names(500), numbers(500)...)...),
	} {
		pool := append(content(s), "", "0", "-0", "01", "+1", "x", "-70000", "300", "99999", strconv.Itoa(math.MaxInt64), strconv.Itoa(math.MinInt64),
			"9223372036854775808", "m1", "m1000")
		pool = append(pool, numbers(50)...)
		for range 200 {
			members := make([][]byte, rng.IntN(BatchSize+1))
			for i := range members {
				members[i] = []byte(pool[rng.IntN(len(pool))])
			}
			if rng.IntN(2) == 0 {
				slices.SortFunc(members, func(a, b []byte) int { return len(a) - len(b) }) // mostly ascending numbers
			}
			found := s.Which(members)
			in, out := []string{}, []string{}
			for i, member := range members {
				require.Equal(t, s.Has(member), found>>i&1 != 0, "%q of %q in a %s of %d", member, members, s.Encoding(), s.Len())
				if s.Has(member) {
					in = append(in, string(member))
				} else {
					out = append(out, string(member))
				}
			}
			require.Zero(t, found>>len(members), "no more bits than members")
			require.Equal(t, in, texts(s.Select(slices.Clone(members), true)))
			require.Equal(t, out, texts(s.Select(slices.Clone(members), false)))
		}
	}
}

func texts(members [][]byte) []string {
	list := []string{}
	for _, m := range members {
		list = append(list, string(m))
	}
	return list
}

// TestSearchFromAnywhere: the guess affects the time, never the result.
func TestSearchFromAnywhere(t *testing.T) {
	rng := newRand(t)
	for _, n := range []int{0, 1, 2, 3, 50} {
		s := intset(emptyInts)
		for range n {
			s, _ = s.add(int64(rng.IntN(200) - 100))
		}
		for from := range s.len() + 2 {
			for want := int64(-102); want < 102; want++ {
				at, found := s.search(want)
				gotAt, gotFound := s.searchFrom(from, want)
				require.Equal(t, at, gotAt, "%d from %d in %v", want, from, s)
				require.Equal(t, found, gotFound)
			}
		}
	}
}

// TestAppendAgainstAdd: the same members make the same set.
func TestAppendAgainstAdd(t *testing.T) {
	few := Limits{IntsetEntries: 5, Entries: 8, Value: 6}
	for _, members := range [][]string{numbers(4), numbers(6), names(3), names(9), {"1", "m", "2"}, {"1", "2", "longer than that"},
		{"m", "longer than that"}, append(numbers(5), "m", "n", "o", "p")} {
		added, appended := newSet(), newSet()
		for _, m := range members {
			require.True(t, added.Add(few, []byte(m)))
			appended.Append(few, []byte(m))
		}
		require.Equal(t, added.Encoding(), appended.Encoding())
		require.Equal(t, content(added), content(appended))
		require.Equal(t, added.Size(), appended.Size())
	}
}

func TestBatchesDoNotAllocate(t *testing.T) {
	members := [][]byte{[]byte("70"), []byte("m20"), []byte("user:4711-1"), []byte("1a1"), []byte("71")}
	var w Walk
	for _, s := range []*Edit{of(limits, numbers(200)...), of(limits, append(names(50), "70")...), of(limits, names(300)...)} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			s.Which(members)
			for some := w.Begin(s.Set); len(some) > 0; some = w.Next() {
				s.Select(some, true)
			}
		}), s.Encoding())
	}
}

// BenchmarkWhich looks up 64 members; half of them are in the set.
func BenchmarkWhich(b *testing.B) {
	for _, s := range []*Edit{of(limits, numbers(500)...), of(limits, names(100)...), of(limits, names(100_000)...)} {
		b.Run(fmt.Sprintf("%s/%d", s.Encoding(), s.Len()), func(b *testing.B) {
			var members [][]byte
			for i := range BatchSize / 2 {
				members = append(members, append([]byte(nil), s.At(i*s.Len()*2/BatchSize, nil)...), []byte("absent:"+strconv.Itoa(i)))
			}
			for b.Loop() {
				s.Which(members)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(members)), "ns/member")
		})
	}
}
