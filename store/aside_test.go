package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/list"
)

// changedDatabases records the databases reported as changed.
type changedDatabases struct{ databases []int }

func (t *changedDatabases) KeyChanged(int, []byte) {}
func (t *changedDatabases) KeyReady(int, []byte)   {}

func (t *changedDatabases) HolderChanged(int, []byte, []byte) {}
func (t *changedDatabases) DatabaseChanged(db int)            { t.databases = append(t.databases, db) }
func keysOf(n *Snapshot, db int) (all []string) {
	n.Each(db, func(key string, _ Ref) bool { all = append(all, key); return true })
	return all
}

// fillForAside adds a few values, like the load of a snapshot.
func fillForAside(s *Store) {
	h := s.NewHash(nil)
	h.Set(s.Limits().Hash, []byte(TokenField), []byte("7"))
	h.Set(s.Limits().Hash, []byte("me"), []byte("1"))
	h.SetDeadline([]byte("me"), 4000)
	l := s.NewList(nil)
	l.Push(s.Limits().List, list.Right, []byte("a"), []byte("b"))
	z := s.NewZSet(nil)
	z.Set(s.Limits().ZSet, []byte("order"), 3000)
	s.DB(0).Loading().String([]byte("plain"), []byte("new"), 0)
	s.DB(0).Loading().String([]byte("timed"), []byte("new"), 2000)
	s.DB(0).Loading().Hash([]byte("lock"), h.Hash, 9000)
	s.DB(1).Loading().List([]byte("list"), l.List, 0)
	s.DB(1).Loading().ZSet([]byte(HoldsPrefix+"v"), z.ZSet, 0)
	s.DB(1).Loading().String([]byte(CompanionPrefix+"x"), []byte("1"), 0)
}

// TestAdopt: the data that was loaded aside replaces the old data, with all deadlines. Of the old data only
// the part is left that an earlier snapshot still reads.
func TestAdopt(t *testing.T) {
	s, same := New(2, Limits{}), New(2, Limits{})
	s.SetNow(1_000_000)
	same.SetNow(1_000_000)
	fillForAside(same)
	for _, key := range []string{"plain", "old", "older"} {
		s.DB(0).EditString([]byte(key)).Set([]byte("old"), NoTTL)
		s.DB(0).Expire([]byte(key), 1500)
	}
	s.DB(1).EditString([]byte("old")).Set([]byte("old"), NoTTL)
	before := s.Cut()
	heard := &changedDatabases{}
	s.SetObserver(heard)
	s.Record(true)

	a := s.Aside()
	fillForAside(a)
	require.Equal(t, 3, s.DB(0).Len(), "nothing is to be seen of it")
	require.Empty(t, heard.databases)
	dirty := s.Dirty()
	require.Equal(t, 4, s.Adopt(a))
	require.Equal(t, []int{0, 1}, heard.databases)
	require.Equal(t, dirty+1, s.Dirty())
	require.Nil(t, s.TakeEffects())

	require.Equal(t, same.Used(), s.Used())
	require.Equal(t, []int{3, 3}, []int{s.DB(0).Len(), s.DB(1).Len()})
	require.Equal(t, []int{2, 1, 1}, []int{s.DB(0).Keys().Timed(), s.DB(0).Keys().TimedHashes(), s.DB(0).Keys().Holders()})
	require.True(t, s.DB(1).Keys().HasCompanions())
	at, ok := s.NextAlarmMS(HoldAlarm)
	require.Equal(t, []any{int64(3000), true}, []any{at, ok})

	s.DB(0).EditString([]byte("plain")).Set([]byte("newer"), NoTTL)
	s.DB(1).Delete([]byte("list"))
	require.ElementsMatch(t, []string{"plain", "old", "older"}, keysOf(before, 0))
	require.Equal(t, []string{"old"}, keysOf(before, 1))
	before.Release()

	after := s.Cut()
	s.DB(0).EditString([]byte("plain")).Set([]byte("newest"), NoTTL)
	after.Each(0, func(key string, r Ref) bool {
		if key == "plain" {
			require.Equal(t, "newer", string(r.Bytes()))
		}
		return true
	})
	after.Release()

	for s.SetNow(2_500_000); s.ExpireDue(10); {
	}
	require.Equal(t, 2, s.DB(0).Len(), "timed is gone, and nothing else was due")
	require.Equal(t, int64(1), s.Stats().Expired)
	for s.SetNow(9_500_000); s.ExpireDue(10); {
	}
	require.Equal(t, 1, s.DB(0).Len())
	s.FlushAll()
	require.Zero(t, s.Used())
}

// TestAbsorb: the keys of a store that was loaded aside come to a store with other keys, in steps. A key that
// is there already is replaced, and its deadline with it.
func TestAbsorb(t *testing.T) {
	s, same := New(2, Limits{}), New(2, Limits{})
	for _, st := range []*Store{s, same} {
		st.SetNow(1_000_000)
		st.DB(0).EditString([]byte("stays")).Set([]byte("old"), NoTTL)
		st.DB(0).Expire([]byte("stays"), 1500)
	}
	s.DB(0).EditString([]byte("plain")).Set([]byte("old"), NoTTL)
	s.DB(0).Expire([]byte("plain"), 1500)
	fillForAside(same)
	before := s.Cut()
	s.Record(true)
	a := s.Aside()
	fillForAside(a)
	unmoved := a.Cut()
	dirty, lefts := s.Dirty(), []int{}
	for left := 1; left > 0; {
		left = s.Absorb(a, 2)
		lefts = append(lefts, left)
	}
	require.Equal(t, []int{4, 2, 0}, lefts)
	require.Equal(t, dirty+6, s.Dirty())
	require.Nil(t, s.TakeEffects())
	require.Zero(t, a.Used())
	require.Len(t, keysOf(unmoved, 0), 3)
	unmoved.Release()

	require.Equal(t, same.Used(), s.Used())
	require.Equal(t, same.HighestToken(), s.HighestToken())
	require.Equal(t, int64(7), s.HighestToken())
	require.Equal(t, []int{4, 3}, []int{s.DB(0).Len(), s.DB(1).Len()})
	require.Equal(t, []int{3, 1, 1}, []int{s.DB(0).Keys().Timed(), s.DB(0).Keys().TimedHashes(), s.DB(0).Keys().Holders()})
	require.True(t, s.DB(1).Keys().HasCompanions())
	at, ok := s.NextAlarmMS(HoldAlarm)
	require.Equal(t, []any{int64(3000), true}, []any{at, ok})
	require.Equal(t, "new", string(s.DB(0).Peek([]byte("plain")).Bytes()))
	require.Zero(t, s.DB(0).Peek([]byte("plain")).DeadlineMS())
	locks := 0
	s.DB(0).Keys().EachToken(func(key string, _ LiveRef) bool {
		require.Equal(t, "lock", key)
		locks++
		return true
	})
	require.Equal(t, 1, locks)

	require.ElementsMatch(t, []string{"stays", "plain"}, keysOf(before, 0))
	before.Release()
	for s.SetNow(2_500_000); s.ExpireDue(10); {
	}
	require.Equal(t, 2, s.DB(0).Len(), "plain and lock")
	for s.SetNow(9_500_000); s.ExpireDue(10); {
	}
	require.Equal(t, 1, s.DB(0).Len())
	s.FlushAll()
	require.Zero(t, s.Used())
}

// TestAbsorbIsNotUndone: an observer hears of the keys, and the changes since then cannot be undone.
func TestAbsorbIsNotUndone(t *testing.T) {
	s := New(1, Limits{})
	heard := &changedKeys{}
	s.SetObserver(heard)
	s.Undo().Begin()
	a := s.Aside()
	a.DB(0).Loading().String([]byte("k"), []byte("v"), 0)
	require.Empty(t, heard.keys)
	require.Zero(t, s.Absorb(a, 1))
	require.Equal(t, []string{"k"}, heard.keys)
	require.False(t, s.Undo().Back(true))
	require.Equal(t, 1, s.DB(0).Len())
}

// changedKeys records the keys reported as changed.
type changedKeys struct{ keys []string }

func (t *changedKeys) KeyChanged(_ int, key []byte) { t.keys = append(t.keys, string(key)) }
func (t *changedKeys) KeyReady(int, []byte)         {}

func (t *changedKeys) HolderChanged(int, []byte, []byte) {}
func (t *changedKeys) DatabaseChanged(int)               {}
