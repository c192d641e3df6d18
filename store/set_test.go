package store

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/set"
)

func membersOf(s *set.Set) (members []string) {
	s.Each(func(member []byte) bool {
		members = append(members, string(member))
		return true
	})
	return members
}

// effectLines returns the effects since the last call, one on each line.
func effectLines(s *Store) (lines []string) {
	for _, e := range s.TakeEffects() {
		line := ""
		for _, arg := range e.Args {
			line += " " + string(arg)
		}
		lines = append(lines, line[1:])
	}
	return lines
}

func TestReplaceSet(t *testing.T) {
	s, db := openTestStore()
	s.Record(true)
	key := []byte("k")
	h, _ := db.OpenHash(key)
	h.Set([]byte("f"), []byte("v"))
	require.True(t, db.Expire(key, 5000))
	effectLines(s)

	fresh := s.NewSet(nil)
	fresh.Add(s.Limits().Set, []byte("1"))
	fresh.Add(s.Limits().Set, []byte("2"))
	db.ReplaceSet(key, fresh.Set)
	require.Equal(t, []string{"DEL k", "SADD k 1 2"}, effectLines(s))
	require.Equal(t, []string{"1", "2"}, membersOf(db.Peek(key).Set()))
	require.Zero(t, db.Peek(key).DeadlineMS())
	require.Zero(t, db.Keys().Timed())

	db.ReplaceSet(key, s.NewSet(nil).Set)
	require.Equal(t, []string{"DEL k"}, effectLines(s))
	require.Zero(t, db.Len())
	dirty := s.Dirty()
	db.ReplaceSet(key, s.NewSet(nil).Set)
	require.Empty(t, effectLines(s))
	require.Equal(t, dirty, s.Dirty(), "nothing in the place of nothing is no change")
}

// TestReplaceSetSplitsItsEffect: a large set is recorded in effects of limited size.
func TestReplaceSetSplitsItsEffect(t *testing.T) {
	s, db := openTestStore()
	s.Record(true)
	fresh := s.NewSet(nil)
	for i := range 3000 {
		fresh.Add(s.Limits().Set, []byte("m"+strconv.Itoa(i)))
	}
	db.ReplaceSet([]byte("k"), fresh.Set)
	effects := s.TakeEffects()
	require.Greater(t, len(effects), 1)
	n := 0
	for _, e := range effects {
		require.LessOrEqual(t, len(e.Args), maxMerged+1)
		require.Equal(t, "SADD", string(e.Args[0]))
		n += len(e.Args) - 2
	}
	require.Equal(t, 3000, n)
}

func TestReplaceSetUnderACut(t *testing.T) {
	s, db := openTestStore()
	m, _ := db.OpenSet([]byte("k"))
	m.Add([]byte("old"))
	cut := s.Cut()
	fresh := s.NewSet(nil)
	fresh.Add(s.Limits().Set, []byte("new"))
	db.ReplaceSet([]byte("k"), fresh.Set)
	cut.Each(0, func(key string, r Ref) bool {
		require.Equal(t, []string{"old"}, membersOf(r.Set()))
		return true
	})
	keys, _ := cut.Len(0)
	require.Equal(t, 1, keys)
	cut.Release()
	require.Equal(t, []string{"new"}, membersOf(db.Peek([]byte("k")).Set()))
}
