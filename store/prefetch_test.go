package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hash"
	"lockserver/store/renewals"
	"lockserver/tests/testkit"
)

// TestExpectIsOnlyAGuess: whatever is expected, and whenever keys are prefetched, the data is that of a map.
func TestExpectIsOnlyAGuess(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	s := New(1, Limits{})
	s.SetNow(1_000_000)
	db := s.DB(0)
	want := make(map[string]string)
	var slots [16]int
	for i := range testkit.Steps(80_000, 200_000) {
		key := fmt.Appendf(nil, "k%d", r.IntN(20_000))
		switch n := r.IntN(20); {
		case n == 0:
			keys := [][]byte{key}
			for len(keys) < len(slots) {
				keys = append(keys, fmt.Appendf(nil, "k%d", r.IntN(25_000)))
			}
			if db.WorthPrefetching() {
				db.Prefetch(keys, slots[:], r.IntN(len(keys)))
			}
		case n < 6:
			db.Expect(r.IntN(25_000) - 5)
		case n < 8:
			db.Expect(slots[r.IntN(len(slots))])
		case n < 12:
			if _, there := want[string(key)]; there != db.Delete(key) {
				require.Fail(t, "a deletion is wrong", "%s: there %v", key, there)
			}
			delete(want, string(key))
		case n < 16:
			val := fmt.Appendf(nil, "v%d", i)
			ttl := NoTTL
			if r.IntN(2) == 0 {
				ttl = 1 << 40
			}
			db.EditString(key).Set(val, ttl)
			want[string(key)] = string(val)
		default:
			ref := db.Peek(key)
			val, there := want[string(key)]
			if there != ref.OK() || there && val != string(ref.Bytes()) {
				require.Equal(t, there, ref.OK())
				require.Equal(t, val, string(ref.Bytes()))
			}
		}
	}
	require.Equal(t, len(want), db.Len())
}

// TestPrefetchOfRemovalsChangesNothing prefetches removals of locks at any time. All data beside the keys
// still equals the model: records, deadlines, renewals and the index of locks.
func TestPrefetchOfRemovalsChangesNothing(t *testing.T) {
	type kept struct {
		record     uint64
		deadlineMS int64
		renewed    bool
	}
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	s := New(1, Limits{Hash: hash.Limits{Entries: 128, Value: 64}})
	s.SetNow(1_000_000)
	db, keeper := s.DB(0), &renewals.Keeper{}
	want := make(map[string]kept)
	random := func() []byte { return fmt.Appendf(nil, "lock:%d", r.IntN(15_000)) }
	for i := range testkit.Steps(60_000, 100_000) {
		key := random()
		was, there := want[string(key)]
		switch n := r.IntN(16); {
		case n == 0 && db.WorthPrefetching():
			var slots [MaxPrefetch]int
			keys := make([][]byte, 1+r.IntN(MaxPrefetch))
			for j := range keys {
				keys[j] = random()
			}
			db.Prefetch(keys, slots[:], 1+r.IntN(2*len(keys)))
		case n < 6 && there:
			e := db.EditHash(key)
			e.Remove()
			delete(want, string(key))
		case !there:
			e, k := db.EditHash(key), kept{record: uint64(r.IntN(3)), deadlineMS: 2000 + int64(r.IntN(100_000)), renewed: r.IntN(4) == 0}
			e.SetInt([]byte("owner"), 1)
			e.SetInt([]byte(TokenField), int64(i)+1)
			e.Expire(k.deadlineMS)
			e.SetLockRecord(k.record)
			if k.renewed {
				db.Renew(key, renewals.Renewal{Keeper: keeper, AtMS: k.deadlineMS - 1000})
			}
			want[string(key)] = k
		default:
			renewal, renewed := db.Renewal(key)
			if got := (kept{db.LockRecord(key), db.Peek(key).DeadlineMS(), renewed}); got != was || renewed && renewal.AtMS != was.deadlineMS-1000 {
				require.Equal(t, was, got)
				require.Equal(t, was.deadlineMS-1000, renewal.AtMS)
			}
		}
	}
	locks := 0
	db.Keys().EachToken(func(key string, _ LiveRef) bool {
		_, there := want[key]
		require.True(t, there, key)
		locks++
		return true
	})
	require.Equal(t, len(want), locks)
	require.Equal(t, len(want), db.Len())
}
