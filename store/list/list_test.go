package list

import (
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
)

func of(lim Limits, elements ...string) *Edit {
	l := newList(&cow.Epoch{})
	for _, e := range elements {
		l.Push(lim, Right, []byte(e))
	}
	return l
}

func numbers(n int) (elements []string) {
	for i := range n {
		elements = append(elements, strconv.Itoa(i))
	}
	return elements
}

func TestEmpty(t *testing.T) {
	l := newList(&cow.Epoch{})
	require.Zero(t, l.Len())
	require.Zero(t, l.NodeCount())
	require.Equal(t, "listpack", l.Encoding())
	require.Empty(t, content(l))
	require.Zero(t, l.RemoveEqual(DefaultLimits(), []byte("a"), Left, 0))
	require.Zero(t, l.Clone(l.ep, nil).Len())
	require.Zero(t, l.Copy(l.ep, nil).Len())
	_, ok := l.Index(0)
	require.False(t, ok)
	_, ok = l.Listpack()
	require.False(t, ok)
	l.EachNode(func([]byte, bool) { t.Fatal("an empty list has no nodes") })
}

// TestEncodings has the rules of Redis 7.2 and later for when a list has nodes. They depend on the bytes of
// the listpack and of the new elements, or on the number of elements. (In 7.0 every list has nodes.)
func TestEncodings(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name string
		list *Edit
		want string
	}{
		{"a small one", of(DefaultLimits(), "a", "b"), "listpack"},
		{"8192 bytes with the header of 7", of(DefaultLimits(), x(8185)), "listpack"},
		{"8193 bytes", of(DefaultLimits(), x(8186)), "quicklist"},
		{"two that fit only without their lengths", of(DefaultLimits(), x(4093), x(4092)), "quicklist"},
		{"as many as the limit", of(Limits{Fill: 3}, numbers(3)...), "listpack"},
		{"one more", of(Limits{Fill: 3}, numbers(4)...), "quicklist"},
		{"a limit of zero is one", of(Limits{}, "a"), "listpack"},
		{"and not two", of(Limits{}, "a", "b"), "quicklist"},
		{"few but large", of(Limits{Fill: 100}, x(8186)), "quicklist"},
		{"below -5 is -5", of(Limits{Fill: -9}, x(65536-7)), "listpack"},
		{"a plain one", of(Limits{Fill: -5, Large: 100}, x(100)), "quicklist"},
	} {
		require.Equal(t, c.want, c.list.Encoding(), c.name)
	}
	l := newList(&cow.Epoch{})
	l.Push(DefaultLimits(), Left, []byte(x(4093)), []byte(x(4092)))
	require.Equal(t, "listpack", l.Encoding(), "both come at once: their own bytes alone count")
	l.Push(Limits{Fill: -1}, Left, []byte("a"))
	require.Equal(t, "quicklist", l.Encoding(), "the limit has become less")
}

// TestSmallAgain: a list becomes a listpack again when its one node has at most half the limit.
func TestSmallAgain(t *testing.T) {
	lim := Limits{Fill: 8}
	l := of(lim, numbers(9)...)
	require.Equal(t, 2, l.NodeCount())
	l.Remove(lim, 8, 1)
	require.Equal(t, 1, l.NodeCount())
	for range 3 {
		require.Equal(t, "quicklist", l.Encoding())
		l.Remove(lim, 0, 1)
	}
	require.Equal(t, "quicklist", l.Encoding())
	l.Remove(lim, 0, 1)
	require.Equal(t, "listpack", l.Encoding())
	require.Equal(t, []string{"4", "5", "6", "7"}, content(l))

	half := Limits{Fill: -1}
	l = of(half, strings.Repeat("x", 2048), strings.Repeat("y", 2048), "z")
	l.Set(half, 1, []byte("y"))
	require.Equal(t, "quicklist", l.Encoding(), "the first node alone is more than half")
	l.Set(half, 0, []byte("x"))
	l.RemoveEqual(half, []byte("z"), Left, 1)
	require.Equal(t, "quicklist", l.Encoding(), "two nodes: removing what is equal joins none, as in Redis")
	require.Equal(t, []string{"x", "y"}, content(l))
	l.RemoveEqual(half, []byte("y"), Left, 1)
	require.Equal(t, "listpack", l.Encoding())

	l = newList(new(cow.Epoch)) // as SORT creates a list
	l.Spread()
	l.Push(DefaultLimits(), Right, []byte("x"), []byte(strings.Repeat("y", 8176)))
	l.Compact(DefaultLimits())
	require.Equal(t, "quicklist", l.Encoding(), "with the estimate of a node they do not fit into one")
	l.Remove(DefaultLimits(), 0, 1)
	l.Compact(DefaultLimits())
	require.Equal(t, "listpack", l.Encoding(), "within the limit, not within half of it")
	l = newList(new(cow.Epoch))
	l.Spread()
	l.Compact(DefaultLimits())
	require.Zero(t, l.Len())
}

func TestPlain(t *testing.T) {
	lim := Limits{Fill: -2, Large: 10}
	large := strings.Repeat("1", 12)
	l := of(lim, "a", large, "b", large+"2")
	var nodes []string
	l.EachNode(func(b []byte, plain bool) {
		if plain {
			nodes = append(nodes, string(b))
		} else {
			nodes = append(nodes, "packed")
		}
	})
	require.Equal(t, []string{"packed", large, "packed", large + "2"}, nodes)
	require.Equal(t, len(nodes), l.NodeCount())
	v, ok := l.Index(1)
	require.True(t, ok)
	require.Equal(t, large, string(v.Bytes()), "it is a number, and not stored as one")
	l.Set(lim, 1, []byte("c"))
	require.Equal(t, []string{"a", "c", "b", large + "2"}, content(l))
	require.Equal(t, 1, l.RemoveEqual(lim, []byte(large+"2"), Right, 0))
	check(t, l, lim)
	require.Equal(t, []string{"a", "c", "b"}, content(l))
}

// TestManyNodes fills segments from both ends and in the middle, and empties them.
func TestManyNodes(t *testing.T) {
	lim := Limits{Fill: 1}
	l := newList(&cow.Epoch{})
	var want []string
	for i := range 5 * maxSegment {
		e := strconv.Itoa(i)
		if i%2 == 0 {
			l.Push(lim, Right, []byte(e))
			want = append(want, e)
		} else {
			l.Push(lim, Left, []byte(e))
			want = append([]string{e}, want...)
		}
	}
	require.Len(t, l.nodes().segs, 5, "what was full at the ends stays full")
	middle := len(want) / 2
	for i := range 2 * maxSegment {
		e := "m" + strconv.Itoa(i)
		l.Insert(lim, middle, false, []byte(e))
		want = append(want[:middle:middle], append([]string{e}, want[middle:]...)...)
	}
	check(t, l, lim)
	require.Equal(t, want, content(l))
	require.Equal(t, len(want), l.NodeCount())
	require.Equal(t, want, content(&Edit{l.Copy(l.ep, nil), l.ep, nil}))
	l.Remove(lim, 1, len(want)-2)
	check(t, l, lim)
	require.Equal(t, []string{want[0], want[len(want)-1]}, content(l))
}

// TestNodesFill: a list that grows at one end has full nodes, and completed nodes have no unused memory.
func TestNodesFill(t *testing.T) {
	for _, side := range []Side{Left, Right} {
		lim, l := DefaultLimits(), newList(&cow.Epoch{})
		for i := range 20_000 {
			l.Push(lim, side, []byte("element-"+strconv.Itoa(i)))
		}
		for _, s := range l.nodes().segs {
			for _, n := range s.nodes {
				require.LessOrEqual(t, cap(n.lp), 8192+1024)
				if n != l.nodes().at(l.nodes().end(side)) {
					require.Greater(t, len(n.lp), 8192-32)
				}
			}
		}
	}
}

// TestNeighboursAreJoined: after an insertion, small neighbouring nodes are joined. Removing equal elements
// does not join nodes, as in Redis.
func TestNeighboursAreJoined(t *testing.T) {
	lim := Limits{Fill: 10}
	var elements []string
	for i := range 1000 {
		elements = append(elements, strconv.Itoa(i), "x", "x", "x", "x")
	}
	l := of(lim, elements...)
	require.Equal(t, 500, l.NodeCount())
	require.Equal(t, 4000, l.RemoveEqual(lim, []byte("x"), Left, 0))
	check(t, l, lim)
	require.Equal(t, 500, l.NodeCount())
	require.Equal(t, numbers(1000), content(l))

	l = of(DefaultLimits(), elements...)
	nodes := l.NodeCount()
	l.Insert(DefaultLimits(), 2000, false, []byte(strings.Repeat("y", 8000)))
	require.Equal(t, nodes+1, l.NodeCount(), "one node cut in two")
}

// TestSizes: each of a million small lists takes a word and the bytes of its elements.
func TestSizes(t *testing.T) {
	require.Equal(t, uintptr(8), unsafe.Sizeof(List{}))
	l := newList(&cow.Epoch{})
	l.Push(DefaultLimits(), Right, []byte("element-1"), []byte("element-2"), []byte("element-3"), []byte("element-4"), []byte("element-5"))
	require.LessOrEqual(t, cap(l.small()), len(l.small())+15)
	one := of(DefaultLimits(), "element-1", "element-2", "element-3", "element-4", "element-5")
	require.LessOrEqual(t, cap(one.small()), len(one.small())+15)
	long := of(DefaultLimits(), numbers(1500)...)
	long.Remove(DefaultLimits(), 10, 1490)
	require.LessOrEqual(t, cap(long.small()), 256, "a listpack that has lost its elements gives the memory back")
}

// TestCutClonesLittle: after a cut one push copies one node and one segment.
func TestCutClonesLittle(t *testing.T) {
	var ep cow.Epoch
	lim, old := Limits{Fill: 1}, newList(&ep)
	for i := range 10 * maxSegment {
		old.Push(lim, Right, []byte(strconv.Itoa(i)))
	}
	ep.Cut()
	l := &Edit{old.Clone(&ep, nil), &ep, nil}
	l.Set(lim, 5, []byte("x"))
	l.Push(lim, Right, []byte("y"))
	shared := 0
	for i, s := range old.nodes().segs {
		if l.nodes().segs[i] == s {
			shared++
		}
	}
	require.Equal(t, len(old.nodes().segs)-2, shared, "two segments were written to, or one and a new one was made")
	ep.Release()
}

func BenchmarkQueue(b *testing.B) {
	lim, l := DefaultLimits(), newList(&cow.Epoch{})
	e := []byte("element of some length")
	for range 10_000 {
		l.Push(lim, Right, e)
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Push(lim, Right, e)
		l.Remove(lim, 0, 1)
	}
}
