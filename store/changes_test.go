package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/list"
)

// TestChangesCount: which operations count as changes, and how often. make diff compares it with Redis.
func TestChangesCount(t *testing.T) {
	s := New(2, Limits{})
	s.SetNow(1_000_000)
	db, other := s.DB(0), s.DB(1)
	words := func(n int) (words [][]byte) {
		for i := range n {
			words = append(words, []byte{byte('a' + i)})
		}
		return words
	}
	k, l := []byte("k"), []byte("l")
	three := s.NewList(nil)
	three.Push(list.Limits{}, list.Right, words(3)...)
	edit := func(do func(e *ListEdit)) func() {
		return func() {
			e := db.EditList(l)
			do(&e)
		}
	}
	for _, c := range []struct {
		what  string
		do    func()
		count int64
	}{
		{"SET", func() { db.EditString(k).Set(k, NoTTL) }, 1},
		{"SET of another type", func() { db.ReplaceList(k, three.List) }, 3},
		{"RPUSH", edit(func(e *ListEdit) { e.Push(list.Right, words(5)...) }), 5},
		{"LPOP", edit(func(e *ListEdit) { e.Pop(list.Left, 2, func(list.Value) {}) }), 2},
		{"LMOVE", edit(func(e *ListEdit) { e.Rotate(list.Left, list.Right) }), 1},
		{"LTRIM of none", edit(func(e *ListEdit) { e.Trim(0, 3) }), 0},
		{"LTRIM", edit(func(e *ListEdit) { e.Trim(1, 2) }), 1},
		{"LTRIM of all", edit(func(e *ListEdit) { e.Trim(0, 0) }), 2},
		{"RENAME", func() { db.Rename(k, l) }, 1},
		{"MOVE", func() { db.Move(l, other) }, 1},
		{"SWAPDB", func() { s.SwapDB(db, other) }, 1},
		{"SWAPDB of one", func() { s.SwapDB(db, db) }, 1},
		{"PEXPIREAT", func() { db.Expire(l, 2000) }, 1},
		{"death", func() { s.SetNow(2_001_000); db.Peek(l) }, 0},
		{"FLUSHALL of nothing", func() { s.FlushAll() }, 0},
		{"SET", func() { db.EditString(k).Set(k, NoTTL) }, 1},
		{"eviction", func() {
			s.SetMemory(Memory{MaxBytes: 1, Policy: AllKeysRandom}, rand.New(rand.NewPCG(1, 2)))
			s.Evict(1)
		}, 0},
	} {
		was := s.Dirty()
		c.do()
		require.Equal(t, c.count, s.Dirty()-was, c.what)
	}
	require.Equal(t, int64(1), s.Stats().Expired)
	require.Equal(t, int64(1), s.Stats().Evicted)
}
