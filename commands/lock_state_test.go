package commands

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/store/hash"
	"lockserver/tests/testkit"
)

// TestReadLock: the fast way to read a lock gives the same result as the general one, in hashes of all kinds.
func TestReadLock(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	names := []string{"a", "b", "", "17", store.TokenField, store.WatchdogField, "mode"}
	values := []string{"1", "2", "0", "-1", "x", "9007199254740990", "9007199254740991", "1750000000000000"}
	short := 0
	s := store.New(1, store.Limits{Hash: hash.Limits{Entries: 128, Value: 64}})
	for range testkit.Steps(20_000, 50_000) {
		e := s.DB(0).EditHash([]byte("lock"))
		for range 1 + random.IntN(3) {
			e.Update([]byte(names[random.IntN(len(names))]), []byte(values[random.IntN(len(values))]))
		}
		owner := []byte(names[random.IntN(len(names))])
		want, wantKind := readLockFields(e.Hash(), owner)
		got, kind := readLock(e.Hash(), owner)
		if kind != wantKind || got != want { // a call of require costs more than all the rest
			require.Equal(t, wantKind, kind, "%v", contents(e.Hash()))
			require.Equal(t, want, got, "%v as %q", contents(e.Hash()), owner)
		}
		if _, _, _, ok := store.OneOwner(e.Hash()); ok && got.holds > 0 {
			short++
		}
		e.Remove()
	}
	require.Greater(t, short, 10, "locks that the short way reads")
}

// contents returns the fields and values of a hash.
func contents(h *hash.Hash) (all []string) {
	h.Each(func(field, value []byte) bool {
		all = append(all, string(field)+"="+string(value))
		return true
	})
	return all
}
