package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/list"
)

// TestWhatIsOverdueGivesWay: while overdue keys are kept although look-ups do not find them, a write to such
// a key creates it again, and it exists once.
func TestWhatIsOverdueGivesWay(t *testing.T) {
	const now = 10_000
	for name, write := range map[string]func(db, other *DB, key []byte){
		"string": func(db, _ *DB, key []byte) { db.EditString(key).Set([]byte("new"), 0) },
		"hash": func(db, _ *DB, key []byte) {
			e := db.EditHash(key)
			e.Set([]byte("new"), []byte("v"))
		},
		"set": func(db, _ *DB, key []byte) {
			e := db.EditSet(key)
			e.Add([]byte("new"))
		},
		"list": func(db, _ *DB, key []byte) {
			e := db.EditList(key)
			e.Push(list.Right, []byte("new"))
		},
		"sorted set": func(db, _ *DB, key []byte) {
			e := db.EditZSet(key)
			e.Set([]byte("new"), 1)
		},
		"rename": func(db, _ *DB, key []byte) {
			db.EditString([]byte("from")).Set([]byte("new"), 0)
			db.Rename([]byte("from"), key)
		},
		"copy": func(db, other *DB, key []byte) {
			other.EditString([]byte("from")).Set([]byte("new"), 0)
			other.Copy([]byte("from"), db, key)
		},
		"move": func(db, other *DB, key []byte) {
			other.EditString(key).Set([]byte("new"), 0)
			require.True(t, other.Move(key, db))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(2, Limits{})
			s.SetNow(now)
			db, key := s.DB(0), []byte("key")
			e := db.EditHash(key)
			e.Set([]byte("old"), []byte("v"))
			require.True(t, db.Expire(key, now/1000+5))
			s.SetFollows(true)
			s.SetNow(2 * now * 1000)
			require.False(t, db.Peek(key).OK())
			require.Equal(t, 1, db.Len(), "it is still there")

			write(db, s.DB(1), key)
			require.Equal(t, 1, db.Len())
			require.True(t, db.Peek(key).OK())
			require.Zero(t, db.Keys().Timed(), "the old one had a deadline")
			n := 0
			db.Keys().EachStored(func(string, Ref) bool { n++; return true })
			require.Equal(t, 1, n)
			s.SetFollows(false)
			s.SetNow(3 * now * 1000)
			require.True(t, db.Delete(key))
			require.Zero(t, db.Len())
		})
	}
}

// TestRandomKeyOfOverdueKeys: while overdue keys are kept, Random ends. It returns a live key if there is
// one without a deadline, and otherwise an overdue key.
func TestRandomKeyOfOverdueKeys(t *testing.T) {
	s := New(1, Limits{})
	s.SetNow(1_000_000)
	db := s.DB(0)
	for i := range 1000 {
		db.EditString(fmt.Append(nil, i)).Set([]byte("v"), 1500)
	}
	s.SetFollows(true)
	s.SetNow(2_000_000)
	random := rand.New(rand.NewPCG(1, 1))
	_, ok := db.Keys().Random(random.IntN)
	require.True(t, ok)
	require.Equal(t, 1000, db.Len())
	db.EditString([]byte("alive")).Set([]byte("v"), NoTTL)
	for range 20 {
		key, ok := db.Keys().Random(random.IntN)
		require.True(t, ok)
		require.Equal(t, "alive", key)
	}
	s.SetFollows(false)
	db.Delete([]byte("alive"))
	_, ok = db.Keys().Random(random.IntN)
	require.False(t, ok)
}
