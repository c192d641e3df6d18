package stream

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"lockserver/store/cow"

	"github.com/stretchr/testify/require"
)

func pairs(s ...string) [][]byte {
	var out [][]byte
	for _, x := range s {
		out = append(out, []byte(x))
	}
	return out
}

func filled(n int) *Stream {
	s := New(new(cow.Epoch))
	for i := range n {
		s.Add(DefaultLimits(), ID{MS: uint64(i + 1)}, pairs("n", fmt.Sprint(i)))
	}
	return s
}

func TestID(t *testing.T) {
	require.Equal(t, "18446744073709551615-0", ID{MS: math.MaxUint64}.String())
	require.Equal(t, ID{2, 0}, ID{1, math.MaxUint64}.Next())
	require.Equal(t, ID{1, math.MaxUint64}, ID{2, 0}.Prev())
	require.Equal(t, ID{1, 3}, ID{1, 2}.Next())
	require.True(t, MaxID().IsMax())
	require.True(t, MaxID().Next().IsZero())
	require.Equal(t, MaxID(), ID{}.Prev())
	require.Equal(t, -1, ID{1, 9}.Compare(ID{2, 0}))
	require.Equal(t, 1, ID{2, 1}.Compare(ID{2, 0}))
	require.Equal(t, 0, ID{2, 1}.Compare(ID{2, 1}))
	require.True(t, ID{1, 9}.Less(ID{2, 0}))
	require.False(t, ID{2, 0}.Less(ID{2, 0}))
}

func TestEmptied(t *testing.T) {
	s := filled(3)
	for i := range 3 {
		require.True(t, s.Delete(ID{MS: uint64(i + 1)}))
	}
	require.False(t, s.Delete(ID{MS: 1}))
	require.Zero(t, s.NodeCount())
	require.Equal(t, ID{}, s.FirstID())
	require.Equal(t, ID{MS: 3}, s.MaxDeletedID())
	s.Add(DefaultLimits(), ID{MS: 4}, pairs("a", "b"))
	require.Equal(t, ID{MS: 4}, s.FirstID())
	require.Equal(t, uint64(4), s.EntriesAdded())
	require.Equal(t, 1, s.Trim(DefaultLimits(), Strategy{}))
	require.Zero(t, s.Len())
	require.Equal(t, ID{MS: 3}, s.MaxDeletedID(), "trimming is not deleting")
	require.Zero(t, s.Trim(DefaultLimits(), Strategy{}))
	checkNodes(t, s)
}

func TestDefaultLimit(t *testing.T) {
	for _, c := range []struct{ entries, want int }{{100, 10_000}, {1, 100}, {0, 10_000}, {50_000, 1_000_000}} {
		st := Strategy{Approx: true, Limit: DefaultLimit}
		require.Equal(t, c.want, st.limit(Limits{NodeMaxEntries: c.entries}))
	}
	require.Zero(t, (&Strategy{Limit: DefaultLimit}).limit(DefaultLimits()))
	require.Zero(t, (&Strategy{Approx: true}).limit(DefaultLimits()))
}

// TestDeadNodeAheadOfLastID: a node without living entries stays if its last entry was deleted first. If the
// last ID then goes back to before it, new entries must still be found.
func TestDeadNodeAheadOfLastID(t *testing.T) {
	s := filled(5)
	s.Add(Limits{NodeMaxEntries: 1}, ID{MS: 10}, pairs("a", "b"))
	s.Trim(DefaultLimits(), Strategy{By: ByMinID, MinID: ID{MS: 10}})
	lim := DefaultLimits()
	for i := range 3 {
		s.Add(lim, ID{MS: uint64(11 + i)}, pairs("a", "b"))
	}
	s.Delete(ID{MS: 13})
	s.Trim(lim, Strategy{By: ByMinID, MinID: ID{MS: 13}})
	require.Zero(t, s.Len())
	require.NotZero(t, s.NodeCount())
	dead := reload(t, s)
	require.Equal(t, s.NodeCount(), dead.NodeCount())
	s.SetID(ID{MS: 2}, nil, nil)
	s.Add(lim, ID{MS: 3}, pairs("a", "b"))
	require.Len(t, between(s, ID{MS: 3}, ID{MS: 3}, false, 10), 1)
	checkNodes(t, s)
}

func TestAddPanics(t *testing.T) {
	s := filled(2)
	require.Panics(t, func() { s.Add(DefaultLimits(), s.LastID(), pairs("a", "b")) })
	require.Panics(t, func() { s.Add(DefaultLimits(), MaxID(), nil) })
	require.Panics(t, func() { s.Add(DefaultLimits(), MaxID(), pairs("a")) })
	require.Equal(t, 2, s.Len())
}

func TestCopyIsSeparate(t *testing.T) {
	s := filled(150)
	c := s.Copy()
	c.Add(DefaultLimits(), ID{MS: 1000}, pairs("n", "x"))
	c.Delete(ID{MS: 1})
	c.Trim(DefaultLimits(), Strategy{MaxLen: 10})
	require.Equal(t, 150, s.Len())
	require.Len(t, between(s, ID{}, MaxID(), false, 1000), 150)
	require.Equal(t, 10, c.Len())
	checkNodes(t, s)
	checkNodes(t, c)
}

func TestNodesDoNotWasteMemory(t *testing.T) {
	s := filled(2000)
	size, capacity := 0, 0
	nodesOf(s).Scan(func(sl slot) bool {
		size, capacity = size+len(sl.node.list), capacity+cap(sl.node.list)
		return true
	})
	require.Less(t, capacity, size+size/8)
	require.LessOrEqual(t, cap(filled(1).tail.list), 128)
}

// TestGrowingLeavesLittleBehind: nearly everything that a growing stream allocates stays in use. Freed pieces
// between living ones cannot be returned to the system. The nodes have many sizes here.
func TestGrowingLeavesLittleBehind(t *testing.T) {
	s, rng := New(new(cow.Epoch)), rand.New(rand.NewPCG(1, 2))
	value, words := bytes.Repeat([]byte("x"), 30), [][]byte{[]byte("orderId"), nil}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range 100_000 {
		words[1] = value[:10+i/1000%15+rng.IntN(3)]
		s.Add(DefaultLimits(), ID{MS: 1_700_000_000_000 + uint64(i/30), Seq: uint64(i % 30)}, words)
	}
	runtime.ReadMemStats(&after)
	size := 0
	for _, list := range s.Nodes() {
		size += len(list)
	}
	t.Logf("%d allocated for %d", after.TotalAlloc-before.TotalAlloc, size)
	require.Less(t, int(after.TotalAlloc-before.TotalAlloc), size*14/10)
	require.Greater(t, s.NodeCount(), 900)
}

func TestAllocations(t *testing.T) {
	s := filled(10_000)
	n := 0
	fn := func(id ID, fv FieldValues) bool {
		for f, v, ok := fv.Next(); ok; f, v, ok = fv.Next() {
			n += len(f) + len(v)
		}
		return true
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { s.Range(ID{MS: 2000}, ID{MS: 3000}, false, fn) }), 2.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { s.Range(ID{MS: 2000}, ID{MS: 3000}, true, fn) }), 2.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Range(s.LastID().Next(), MaxID(), false, fn) }))
	require.NotZero(t, n)
}

func BenchmarkAdd(b *testing.B) {
	fields := pairs("userId", "123456", "voucherId", "7", "id", "539219834712")
	lim := DefaultLimits()
	s := New(new(cow.Epoch))
	b.ReportAllocs()
	ms := uint64(1_700_000_000_000)
	for b.Loop() {
		ms++
		s.Add(lim, ID{MS: ms}, fields)
		if s.Len() == 1_000_000 {
			s = New(new(cow.Epoch))
		}
	}
}

func BenchmarkAddTrimmed(b *testing.B) {
	fields := pairs("userId", "123456", "voucherId", "7", "id", "539219834712")
	lim := DefaultLimits()
	s := New(new(cow.Epoch))
	b.ReportAllocs()
	ms := uint64(1_700_000_000_000)
	for b.Loop() {
		ms++
		s.Add(lim, ID{MS: ms}, fields)
		s.Trim(lim, Strategy{MaxLen: 10_000, Approx: true, Limit: DefaultLimit})
	}
}

func BenchmarkRange10(b *testing.B) {
	s := filled(1_000_000)
	n := 0
	b.ReportAllocs()
	at := uint64(0)
	for b.Loop() {
		at = (at + 7919_003) % 1_000_000
		left := 10
		s.Range(ID{MS: at}, MaxID(), false, func(id ID, fv FieldValues) bool {
			_, v, _ := fv.Next()
			n += len(v)
			left--
			return left > 0
		})
	}
}
