package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/bloom"
)

// TestBlooms: the number of Bloom filters is right, whatever happens to their keys.
func TestBlooms(t *testing.T) {
	s := New(2, Limits{})
	db, other := s.DB(0), s.DB(1)
	reserve := func(key string) {
		e, ok := db.OpenBloom([]byte(key))
		require.True(t, ok)
		require.NoError(t, e.Reserve(bloom.Params{ErrorRate: 0.01, Capacity: 100, Growth: 2}))
	}
	reserve("a")
	reserve("b")
	require.Equal(t, 2, db.Keys().Blooms())
	db.EditString([]byte("b")).Set([]byte("text"), NoTTL)
	require.Equal(t, 1, db.Keys().Blooms())
	require.True(t, db.Delete([]byte("a")))
	require.Zero(t, db.Keys().Blooms())
	reserve("c")
	db.Rename([]byte("c"), []byte("d"))
	require.Equal(t, 1, db.Keys().Blooms())
	s.SwapDB(db, other)
	require.Equal(t, []int{0, 1}, []int{db.Keys().Blooms(), other.Keys().Blooms()})
	s.FlushAll()
	require.Zero(t, other.Keys().Blooms())
}
