package store

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/list"
)

func elementsOf(l *list.List) (all []string) {
	l.Range(0, l.Len(), list.Right, func(v list.Value) bool {
		all = append(all, string(v.Append(nil)))
		return true
	})
	return all
}

// TestOpenListUnderACut: a write through an opened key does not change an earlier cut, for each form of a
// list.
func TestOpenListUnderACut(t *testing.T) {
	for _, n := range []int{1, 5, 3000} {
		s := New(1, Limits{List: list.DefaultLimits()})
		db := s.DB(0)
		key := []byte("l")
		e, ok := db.OpenList(key)
		require.True(t, ok)
		require.Zero(t, e.Len())
		var want []string
		for i := range n {
			e.Push(list.Right, []byte("element"+strconv.Itoa(i)))
			want = append(want, "element"+strconv.Itoa(i))
		}
		cut := s.Cut()
		e, _ = db.OpenList(key)
		e.Push(list.Left, []byte("x"))
		e.Set(n/2+1, []byte("y"))
		e.Rotate(list.Left, list.Right)
		require.True(t, e.Insert(true, []byte("y"), []byte("z")))
		require.Equal(t, n+2, e.Len())
		require.Equal(t, 1, e.RemoveEqual([]byte("x"), list.Right, 0))
		e.Trim(1, n)
		e.Pop(list.Right, n, func(list.Value) {})
		require.Nil(t, e.List())
		require.Zero(t, db.Len(), "the list went with its last element")
		cut.Each(0, func(_ string, r Ref) bool {
			require.Equal(t, List, r.Kind())
			require.Equal(t, want, elementsOf(r.List()))
			return true
		})
		cut.Release()
	}
}

func TestListOpensAsNothingElse(t *testing.T) {
	s := New(1, Limits{List: list.DefaultLimits()})
	db := s.DB(0)
	e, _ := db.OpenList([]byte("l"))
	e.Push(list.Right, []byte("a"))
	_, ok := db.OpenSet([]byte("l"))
	require.False(t, ok)
	_, ok = db.OpenHash([]byte("l"))
	require.False(t, ok)
	member, _ := db.OpenSet([]byte("s"))
	member.Add([]byte("a"))
	_, ok = db.OpenList([]byte("s"))
	require.False(t, ok)
	v, ok := db.Peek([]byte("l")).List().Index(0)
	require.True(t, ok)
	require.Equal(t, "a", string(v.Bytes()))
	require.Nil(t, db.Peek([]byte("no")).List())
	require.Equal(t, "list", db.Peek([]byte("l")).Kind().String())
}

func TestListCopyStandsAlone(t *testing.T) {
	for _, n := range []int{2, 3000} {
		s := New(1, Limits{List: list.DefaultLimits()})
		db := s.DB(0)
		e, _ := db.OpenList([]byte("l"))
		for i := range n {
			e.Push(list.Right, []byte("element"+strconv.Itoa(i)))
		}
		want := elementsOf(e.List())
		db.Copy([]byte("l"), db, []byte("m"))
		e, _ = db.OpenList([]byte("l"))
		for i := range n {
			e.Set(i, []byte("x"))
		}
		require.Equal(t, want, elementsOf(db.Peek([]byte("m")).List()))
	}
}

// TestRotateKeepsTheDeadline: a list of one element that is moved onto itself keeps its deadline, because the
// list is never removed.
func TestRotateKeepsTheDeadline(t *testing.T) {
	s := New(1, Limits{List: list.DefaultLimits()})
	s.SetNow(1_000_000)
	db := s.DB(0)
	e, _ := db.OpenList([]byte("l"))
	e.Push(list.Right, []byte("a"))
	require.True(t, db.Expire([]byte("l"), 5000))
	for _, n := range []int{1, 2} {
		e, _ = db.OpenList([]byte("l"))
		e.Rotate(list.Left, list.Right)
		require.Equal(t, n, e.Len())
		require.Equal(t, int64(5000), db.Peek([]byte("l")).DeadlineMS())
		e.Push(list.Right, []byte("b"))
	}
	require.Equal(t, []string{"b", "a", "b"}, elementsOf(e.List()))
}
