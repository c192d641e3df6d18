package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hash"
	"lockserver/store/list"
	"lockserver/store/set"
	"lockserver/store/zset"
	"lockserver/tests/testkit"
)

// requireTogether checks the memory of the keys of small containers. Each key is in the piece of its
// container, unless that was made for another key. No key is in a piece that its container has left. It
// returns how many keys are in the pieces of their containers.
func requireTogether(t *testing.T, s *Store) (together int) {
	t.Helper()
	for _, db := range s.dbs {
		keys := db.space.keys
		for slot := range keys.Len() {
			key := keys.Key(slot)
			name := keys.Value(slot).name()
			if name != nil && name.String() == key.String() {
				if name != key {
					require.Same(t, name, key, "%q has a key beside its own", key.String())
				}
				together++
			}
			if found := keys.Find(keys.Hash(key.Bytes()), key.Bytes()); found != slot {
				require.Equal(t, slot, found)
			}
		}
	}
	return together
}

// TestKeysInPieces makes random writes to containers of every kind, near the limit of the small form, with
// open cuts and with keys that are renamed, moved and copied. Then it does the same in a loaded store. It
// compares the values with a model, and checks the place of each key.
func TestKeysInPieces(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	s := New(2, Limits{Hash: hash.Limits{Entries: 6, Value: 30}, Set: set.Limits{IntsetEntries: 5, Entries: 6, Value: 30},
		List: list.Limits{Fill: 6}, ZSet: zset.Limits{Entries: 6, Value: 30}})
	want := map[string][]string{} // by database and key: the added members, in order
	most, cuts := 0, 0
	for range 40_000 {
		n := rng.IntN(2)
		db := s.DB(n)
		kind := "hslz"[rng.IntN(4)]
		number := rng.IntN(12)
		name := fmt.Sprintf("%c%d%s", kind, number, strings.Repeat("-", number*number))
		at := fmt.Sprint(n, name)
		key, member := []byte(name), []byte(fmt.Sprint(rng.IntN(9), strings.Repeat("x", rng.IntN(2)*rng.IntN(30))))
		switch rng.IntN(12) {
		case 0:
			other := fmt.Sprintf("%c%d%s", kind, number+1, strings.Repeat("-", rng.IntN(20)))
			if want[at] != nil && other != name {
				db.Rename(key, []byte(other))
				want[fmt.Sprint(n, other)] = want[at]
				delete(want, at)
			}
		case 1:
			if there := fmt.Sprint(1-n, name); want[at] != nil && want[there] == nil {
				require.True(t, db.Move(key, s.DB(1-n)))
				want[there] = want[at]
				delete(want, at)
			}
		case 2:
			if want[at] != nil {
				db.Copy(key, s.DB(1-n), key)
				want[fmt.Sprint(1-n, name)] = append([]string(nil), want[at]...)
			}
		case 3:
			require.Equal(t, want[at] != nil, db.Delete(key))
			delete(want, at)
		case 4:
			if s.values.Active() > 0 {
				s.values.Release()
			} else {
				s.values.Cut()
				cuts++
			}
		default:
			put(db, kind, key, member)
			want[at] = append(want[at], string(member))
		}
		if rng.IntN(50) == 0 {
			most = max(most, requireTogether(t, s))
		}
	}
	for _, db := range s.dbs {
		require.Equal(t, db.Len(), countOf(want, db.ID()))
	}
	for at, members := range want {
		got, once := contentOfKey(s.DB(int(at[0]-'0')), at[1], []byte(at[1:])), members
		if at[1] != 'l' {
			once = nil
			seen := map[string]bool{}
			for _, m := range members {
				if !seen[m] {
					seen[m] = true
					once = append(once, m)
				}
			}
		}
		require.ElementsMatch(t, once, got, at)
	}
	require.Greater(t, most, 20)
	require.Greater(t, cuts, 100)
}

func countOf(want map[string][]string, db int) (n int) {
	for at := range want {
		if int(at[0]-'0') == db {
			n++
		}
	}
	return n
}

// put adds a member to the container at a key.
func put(db *DB, kind byte, key, member []byte) {
	switch kind {
	case 'h':
		e := db.EditHash(key)
		e.Set(member, member)
	case 's':
		e := db.EditSet(key)
		e.Add(member)
	case 'l':
		e := db.EditList(key)
		e.Push(list.Right, member)
	case 'z':
		e := db.EditZSet(key)
		e.Set(member, float64(len(member)))
	}
}

// contentOfKey returns the members that put has added.
func contentOfKey(db *DB, kind byte, key []byte) (all []string) {
	slot := db.space.keys.Find(db.space.keys.Hash(key), key)
	v := db.space.keys.Value(slot)
	switch kind {
	case 'h':
		v.hash().Each(func(field, _ []byte) bool { all = append(all, string(field)); return true })
	case 's':
		v.set().Each(func(member []byte) bool { all = append(all, string(member)); return true })
	case 'l':
		v.list().Range(0, v.list().Len(), list.Right, func(e list.Value) bool { all = append(all, string(e.Append(nil))); return true })
	case 'z':
		v.zset().Range(0, v.zset().Len(), func(member []byte, _ float64) bool { all = append(all, string(member)); return true })
	}
	return all
}

// TestLoadedKeysInPieces: a value that is made for a key before it is stored there has the key in its piece,
// too.
func TestLoadedKeysInPieces(t *testing.T) {
	s := New(1, Limits{Hash: hash.Limits{Entries: 6, Value: 30}, Set: set.Limits{Entries: 6, Value: 30}, List: list.DefaultLimits(), ZSet: zset.Limits{Entries: 6, Value: 30}})
	db, lim := s.DB(0), s.Limits()
	h := s.NewHash([]byte("h"))
	h.Set(lim.Hash, []byte("field"), []byte("value"))
	require.True(t, db.Loading().Hash([]byte("h"), h.Hash, 0))
	m := s.NewSet([]byte("s"))
	m.Add(lim.Set, []byte("member"))
	require.True(t, db.Loading().Set([]byte("s"), m.Set, 0))
	l := s.NewList([]byte("l"))
	l.Push(lim.List, list.Right, []byte("element"))
	require.True(t, db.Loading().List([]byte("l"), l.List, 0))
	z := s.NewZSetTable([]byte("z"))
	z.Set(lim.ZSet, []byte("member"), 1)
	z.Compact(lim.ZSet)
	require.True(t, db.Loading().ZSet([]byte("z"), z.ZSet, 0))
	require.Equal(t, 4, requireTogether(t, s))
	other := s.NewHash([]byte("another"))
	other.Set(lim.Hash, []byte("field"), []byte("value"))
	require.True(t, db.Loading().Hash([]byte("x"), other.Hash, 0))
	require.Equal(t, 4, requireTogether(t, s))
	put(db, 'h', []byte("x"), []byte(strings.Repeat("f", 30)))
	require.Equal(t, 5, requireTogether(t, s), "it has moved")
}
