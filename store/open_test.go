package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hash"
	"lockserver/store/set"
	"lockserver/store/stream"
)

func openTestStore() (*Store, *DB) {
	s := New(1, Limits{Hash: hash.Limits{Entries: 4, Value: 16},
		Set: set.Limits{IntsetEntries: 4, Entries: 4, Value: 16}, Stream: stream.DefaultLimits()})
	s.SetNow(1_000_000)
	return s, s.DB(0)
}

func TestOpenTellsKindsApart(t *testing.T) {
	s, db := openTestStore()
	key := []byte("k")
	h, ok := db.OpenHash(key)
	require.True(t, ok)
	require.Nil(t, h.Hash())
	require.Zero(t, db.Len(), "opening a key does not make it")
	require.True(t, h.Set([]byte("f"), []byte("v")))

	_, ok = db.OpenSet(key)
	require.False(t, ok)
	again, ok := db.OpenHash(key)
	require.True(t, ok)
	require.True(t, again.Hash().Has([]byte("f")))

	member, ok := db.OpenSet([]byte("s"))
	require.True(t, ok)
	require.True(t, member.Add([]byte("m")))
	_, ok = db.OpenHash([]byte("s"))
	require.False(t, ok)
	require.Zero(t, s.Stats(), "only commands that read count hits and misses")
}

func TestOpenRemovesAnOverdueKeyOfAnotherKind(t *testing.T) {
	s, db := openTestStore()
	e := db.EditSet([]byte("k"))
	e.Add([]byte("m"))
	require.True(t, db.Expire([]byte("k"), 2000))
	s.SetNow(2_001_000)
	h, ok := db.OpenHash([]byte("k"))
	require.True(t, ok)
	require.Nil(t, h.Hash())
	require.Zero(t, db.Len())
}

// TestOpenUnderACut: a write through an opened key does not change an earlier cut, for each form of the
// containers.
func TestOpenUnderACut(t *testing.T) {
	for _, n := range []int{1, 3, 300} {
		s, db := openTestStore()
		h, _ := db.OpenHash([]byte("h"))
		m, _ := db.OpenSet([]byte("s"))
		for i := range n {
			h.SetInt(appendInt(nil, int64(i)), int64(i))
			m.Add(appendInt([]byte("m"), int64(i)))
		}
		cut := s.Cut()
		h, _ = db.OpenHash([]byte("h"))
		m, _ = db.OpenSet([]byte("s"))
		for i := range n {
			h.SetInt(appendInt(nil, int64(i)), -1)
			require.True(t, m.Remove(appendInt([]byte("m"), int64(i))))
		}
		require.Equal(t, 1, db.Len(), "the set went with its last member")
		cut.Each(0, func(key string, r Ref) bool {
			if key == "h" {
				require.Equal(t, n, r.Hash().Len())
				r.Hash().Each(func(field, val []byte) bool {
					require.Equal(t, string(field), string(val))
					return true
				})
			} else {
				require.Equal(t, n, r.Set().Len())
			}
			return true
		})
		cut.Release()
	}
}
