package stream

import (
	"testing"

	"lockserver/store/cow"
	"lockserver/store/listpack"

	"github.com/stretchr/testify/require"
)

// goodNode returns a node with living and deleted entries, some with the master's fields and some with
// others.
func goodNode() (ID, listpack.List) {
	s := New(new(cow.Epoch))
	lim := DefaultLimits()
	s.Add(lim, ID{5, 7}, pairs("a", "1", "b", "x"))
	s.Add(lim, ID{5, 8}, pairs("a", "2", "b", "y"))
	s.Add(lim, ID{6, 1}, pairs("c", "3"))
	s.Add(lim, ID{9, 1}, pairs("a", "2000", "b", "z"))
	s.Delete(ID{5, 8})
	return s.tail.master, s.tail.list
}

// set replaces the i-th element.
func set(l listpack.List, i int, v string) listpack.List {
	l = l.Clone()
	pos := l.First()
	for range i {
		pos = l.Next(pos)
	}
	return l.Replace(pos, []byte(v))
}

func TestInspectRefuses(t *testing.T) {
	master, good := goodNode()
	require.NoError(t, ValidateNode(master, good))
	// 3 1 2 a b 0 | 2 0 0 1 x 5 | 3 0 1 2 y 5 | 0 1 -6 1 c 3 6 | 2 4 -6 2000 z 5
	bad := map[string][]byte{
		"empty list":         listpack.New(),
		"no listpack":        []byte("xx"),
		"count":              set(good, 0, "4"),
		"count is a string":  set(good, 0, "x"),
		"negative count":     set(good, 0, "-1"),
		"deleted":            set(good, 1, "0"),
		"fields":             set(good, 2, "3"),
		"huge fields":        set(good, 2, "9223372036854775807"),
		"negative fields":    set(good, 2, "-1"),
		"terminator":         set(good, 5, "1"),
		"unknown flag":       set(good, 6, "6"),
		"flags flipped":      set(good, 6, "0"),
		"revived":            set(good, 12, "2"),
		"below the master":   set(good, 7, "-1"),
		"id is a string":     set(good, 8, "abc"),
		"lp-count":           set(good, 11, "6"),
		"lp-count of last":   set(good, 30, "4"),
		"own fields":         set(good, 21, "2"),
		"huge own fields":    set(good, 21, "4611686018427387905"),
		"out of order":       set(good, 19, "0"),
		"equal to the first": set(set(good, 19, "0"), 20, "0"),
		"cut":                good.Clone().Delete(good.Last(), 1),
		"more":               good.Clone().AppendInt(0),
	}
	for name, list := range bad {
		require.ErrorIs(t, ValidateNode(master, list), ErrCorrupt, name)
		require.ErrorIs(t, New(new(cow.Epoch)).AppendNode(master, list), ErrCorrupt, name)
	}
	// A deleted entry may be out of order, because the last ID may have gone back.
	require.NoError(t, ValidateNode(master, set(good, 13, "100")))
}

func TestNodesHaveToFollowEachOther(t *testing.T) {
	master, list := goodNode()
	s := New(new(cow.Epoch))
	require.NoError(t, s.AppendNode(master, list.Clone()))
	require.ErrorIs(t, s.AppendNode(master, list.Clone()), ErrCorrupt)
	require.ErrorIs(t, s.AppendNode(ID{9, 0}, list.Clone()), ErrCorrupt, "sequence wraps below the last entry")
	require.ErrorIs(t, s.AppendNode(ID{7, 0}, list.Clone()), ErrCorrupt, "overlaps")
	require.Equal(t, 3, s.Len())
	require.NoError(t, s.AppendNode(ID{20, 7}, list.Clone()))
	require.Equal(t, 6, s.Len())
	require.Equal(t, ID{5, 7}, s.FirstID())
	require.Equal(t, ID{24, 1}, s.LastID())
	checkNodes(t, s)
}

// FuzzNode: a valid node can be walked both ways, trimmed, deleted from and appended to, and stays valid.
func FuzzNode(f *testing.F) {
	master, list := goodNode()
	f.Add(master.MS, master.Seq, []byte(list), uint8(0), uint8(3))
	f.Add(uint64(0), uint64(1), []byte(filled(20).tail.list), uint8(2), uint8(9))
	f.Fuzz(func(t *testing.T, ms, seq uint64, b []byte, at, to uint8) {
		// Invalid bytes are made a listpack, so that the elements are tested.
		if listpack.Validate(b) != nil {
			l := listpack.New()
			for _, c := range b {
				if c < 200 {
					l = l.AppendInt(int64(int8(c)))
				} else {
					l = l.Append([]byte{c})
				}
			}
			b = l
		} else if len(b) > 8 {
			b = append([]byte(nil), b...)
			if v := listpack.List(b); v[6+int(at)%(len(b)-6)] < 0x80 {
				v[6+int(at)%(len(b)-6)] = to & 0x7F
			}
		}
		s := New(new(cow.Epoch))
		if s.AppendNode(ID{ms, seq}, b) != nil {
			return
		}
		forward := between(s, ID{}, MaxID(), false, len(b))
		require.Len(t, forward, s.Len())
		for i, r := range between(s, ID{}, MaxID(), true, len(b)) {
			require.Equal(t, forward[len(forward)-1-i], r)
		}
		checkNodes(t, s)
		c := s.Copy()
		if len(forward) > 1 {
			mid := forward[len(forward)/2].id
			s.Trim(DefaultLimits(), Strategy{By: ByMinID, MinID: mid})
			checkNodes(t, s)
			c.Trim(DefaultLimits(), Strategy{MaxLen: 1})
			checkNodes(t, c)
			require.True(t, s.Delete(mid))
			checkNodes(t, s)
		}
		if !s.LastID().IsMax() {
			s.Add(DefaultLimits(), s.LastID().Next(), pairs("k", "v"))
			checkNodes(t, s)
		}
	})
}
