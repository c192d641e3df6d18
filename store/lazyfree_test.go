package store

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLazyFreed: a value counts as freed lazily if it is large and the reason of its removal allows that.
func TestLazyFreed(t *testing.T) {
	s := New(1, Limits{})
	db := s.DB(0)
	fill := func(members int) {
		edit := db.EditSet([]byte("k"))
		for i := range members {
			edit.Add([]byte("m" + strconv.Itoa(i)))
		}
	}
	fill(65)
	require.True(t, db.Unlink([]byte("k"), true))
	require.EqualValues(t, 1, s.Stats().Freed)
	fill(64)
	require.True(t, db.Unlink([]byte("k"), true))
	fill(65)
	require.True(t, db.Unlink([]byte("k"), false))
	require.EqualValues(t, 1, s.Stats().Freed)
	fill(65)
	s.SetLazy(Lazy{ServerDel: true})
	db.EditString([]byte("k")).Set([]byte("v"), NoTTL)
	require.EqualValues(t, 2, s.Stats().Freed)
	s.ResetStats()
	require.Zero(t, s.Stats().Freed)
}
