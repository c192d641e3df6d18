package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// keyOf returns one of many keys of the same size.
func keyOf(i int) []byte { return fmt.Appendf(nil, "key:%06d", i) }

// full returns a store of n small keys, key:0 and so on, each used a second later than the previous one. Its
// memory limit is the given share of their size.
func full(t *testing.T, p Policy, n int, share float64, ttl bool) *Store {
	t.Helper()
	seed := testkit.Seed(t)
	chance := rand.New(rand.NewPCG(seed, 1))
	s := New(2, Limits{})
	s.SetMemory(Memory{Policy: p, Samples: 10, LogFactor: 10, DecayMinutes: 1}, chance)
	for i := range n {
		s.SetNow(int64(i+1) * 1_000_000)
		end := NoTTL
		if ttl {
			end = TTL(100_000_000 + int64(i))
		}
		s.DB(i%2).EditString(keyOf(i)).Set([]byte("value"), end)
	}
	s.SetMemory(Memory{MaxBytes: int(share * float64(s.Used())), Policy: p, Samples: 10, LogFactor: 10, DecayMinutes: 1}, chance)
	return s
}

// left reports which of key:0 to key:n-1 still exist.
func left(s *Store, n int) (there []bool) {
	for i := range n {
		there = append(there, s.DB(i%2).Holds(keyOf(i)))
	}
	return there
}

func countTrue(b []bool) (n int) {
	for _, is := range b {
		if is {
			n++
		}
	}
	return n
}

// TestEvictionPrefers: half of the keys are evicted, and most of the keys that the policy prefers stay.
func TestEvictionPrefers(t *testing.T) {
	const n = 4000
	for _, c := range []struct {
		policy Policy
		timed  bool
		use    func(s *Store) // uses the keys of the upper half
	}{
		{policy: AllKeysLRU}, {policy: VolatileLRU, timed: true}, {policy: VolatileTTL, timed: true},
		{policy: AllKeysLFU, use: useUpper}, {policy: VolatileLFU, timed: true, use: useUpper},
	} {
		s := full(t, c.policy, n, 0.5, c.timed)
		if c.use != nil {
			c.use(s)
		}
		removed := 0
		for s.Full() {
			k := s.Evict(100)
			require.Positive(t, k)
			require.LessOrEqual(t, k, 100)
			removed += k
		}
		there := left(s, n)
		require.Equal(t, n-removed, countTrue(there))
		require.EqualValues(t, removed, s.Stats().Evicted)
		require.InDelta(t, n/2, removed, n/100)
		require.Greater(t, countTrue(there[n/2:]), n/2*9/10, "policy %d", c.policy)
		require.Less(t, countTrue(there[:n/2]), n/2/10, "policy %d", c.policy)
		requireUsed(t, s, "policy %d", c.policy)
	}
}

func useUpper(s *Store) {
	for i := 2000; i < 4000; i++ {
		key := keyOf(i)
		for range 300 {
			s.DB(i % 2).Find(key)
		}
	}
}

// TestEvictionOfFew: if there are no more keys than the policy samples, the choice does not depend on chance.
func TestEvictionOfFew(t *testing.T) {
	for _, p := range []Policy{AllKeysLRU, VolatileLRU, VolatileTTL} {
		for seed := range uint64(testkit.Steps(150, 500)) {
			s := New(2, Limits{})
			for i := range 5 {
				s.SetNow(int64(i+1) * 1_000_000)
				s.DB(1).EditString(keyOf(i)).Set([]byte("value"), TTL(100_000_000+int64(i)))
			}
			if p.volatile() {
				for i := range 200 { // keys that may not be evicted
					s.DB(1).EditString(fmt.Append(nil, "stays:", i)).Set([]byte("value"), NoTTL)
				}
			}
			s.SetMemory(Memory{MaxBytes: 1, Policy: p, Samples: 5}, rand.New(rand.NewPCG(seed, 1)))
			for i := range 5 {
				require.True(t, s.DB(1).Holds(keyOf(i)))
				require.Equal(t, 1, s.Evict(1))
				require.False(t, s.DB(1).Holds(keyOf(i)), "policy %d, seed %d", p, seed)
			}
			if p.volatile() {
				require.Zero(t, s.Evict(1))
			}
		}
	}
}

// TestEvictionAtRandom: both halves of the keys lose about as many.
func TestEvictionAtRandom(t *testing.T) {
	const n = 4000
	for _, p := range []Policy{AllKeysRandom, VolatileRandom} {
		s := full(t, p, n, 0.5, p.volatile())
		for s.Full() {
			require.Positive(t, s.Evict(64))
		}
		there := left(s, n)
		require.InDelta(t, countTrue(there[:n/2]), countTrue(there[n/2:]), n/10)
	}
}

// TestNothingToEvict: there is no policy, or no key with a deadline.
func TestNothingToEvict(t *testing.T) {
	for _, p := range []Policy{NoEviction, VolatileLRU, VolatileLFU, VolatileRandom, VolatileTTL} {
		s := full(t, p, 100, 0.5, false)
		require.Zero(t, s.Evict(10))
		require.True(t, s.Full())
		require.Equal(t, 100, countTrue(left(s, 100)))
	}
	s := full(t, AllKeysLRU, 10, 1, false)
	require.False(t, s.Full())
	require.Zero(t, s.Evict(10))
}

// TestLocksAreNotEvicted: other keys are evicted, however few there are, and locks stay. Redisson's keys
// beside them stay, too.
func TestLocksAreNotEvicted(t *testing.T) {
	locks := testkit.Steps(6_000, 20_000)
	for p := AllKeysLRU; p <= VolatileTTL; p++ {
		s := New(3, Limits{})
		s.SetNow(1_000_000)
		db := s.DB(1)
		for i := range locks {
			key := fmt.Append(nil, "lock:", i)
			e := db.EditHash(key)
			e.Set([]byte(TokenField), []byte("1"))
			db.Expire(key, 10_000)
			db.EditString(fmt.Append(nil, CompanionPrefix, i)).Set([]byte("1"), 10_000)
		}
		const others = 30
		for i := range others {
			s.DB(i%3).EditString(keyOf(i)).Set([]byte("value"), 10_000)
		}
		s.SetMemory(Memory{MaxBytes: 1, Policy: p, Samples: 5}, rand.New(rand.NewPCG(1, uint64(p))))
		removed, in := 0, 0
		for ; removed < others && in < 1000; in++ {
			removed += s.Evict(10)
		}
		require.Equal(t, others, removed, "policy %d, %d slices", p, in)
		require.Zero(t, s.Evict(10))
		require.Equal(t, 2*locks, db.Len())
		require.Zero(t, s.DB(0).Len()+s.DB(2).Len())
		requireUsed(t, s, "policy %d", p)
	}
}

// TestPoolForgetsWhatIsGone: a candidate that was renamed, removed or has become a lock is not evicted.
func TestPoolForgetsWhatIsGone(t *testing.T) {
	s := full(t, AllKeysLRU, 100, 0.9, false)
	require.Positive(t, s.Evict(1))
	require.NotEmpty(t, s.eviction.pool)
	for i := range 100 {
		db, key := s.DB(i%2), keyOf(i)
		if db.Delete(key) {
			e := db.EditHash(key)
			e.Set([]byte(TokenField), []byte("1"))
		}
	}
	require.Zero(t, s.Evict(10))
	s.FlushAll()
	require.Zero(t, s.Evict(10))
	require.Zero(t, s.Used())
}

// TestAccess: the values of OBJECT IDLETIME and FREQ.
func TestAccess(t *testing.T) {
	s := New(1, Limits{})
	db, key := s.DB(0), []byte("k")
	s.SetNow(5_000_000)
	db.EditString(key).Set([]byte("v"), NoTTL)
	s.SetNow(9_000_000)
	require.EqualValues(t, 4, s.IdleS(db.Peek(key)))
	require.EqualValues(t, 0, s.IdleS(db.Find(key)))

	s.SetMemory(Memory{Policy: AllKeysLFU, LogFactor: 0, DecayMinutes: 2}, rand.New(rand.NewPCG(1, 2)))
	db.Delete(key)
	db.EditString(key).Set([]byte("v"), NoTTL)
	require.EqualValues(t, firstCount, s.Freq(db.Peek(key)))
	for range 1000 { // with a factor of 0 every use counts
		db.Find(key)
	}
	require.EqualValues(t, maxCount, s.Freq(db.Peek(key)))
	db.EditString(key).Set([]byte("w"), NoTTL)
	require.EqualValues(t, maxCount, s.Freq(db.Peek(key)), "overwriting is a use")
	s.SetNow(9_000_000 + 60_000_000*7)
	require.EqualValues(t, maxCount-3, s.Freq(db.Peek(key)))
	s.SetNow(9_000_000 + 60_000_000*2000)
	require.EqualValues(t, 0, s.Freq(db.Peek(key)))

	s.SetMemory(Memory{Policy: VolatileLFU, LogFactor: 10, DecayMinutes: 0}, rand.New(rand.NewPCG(1, 2)))
	db.Delete(key)
	db.EditString(key).Set([]byte("v"), NoTTL)
	for range 1000 {
		db.Find(key)
	}
	require.InDelta(t, 19, s.Freq(db.Peek(key)), 6, "about the square root of a fifth of the uses, and 5")
	s.SetNow(9_000_000 + 60_000_000*2001)
	require.InDelta(t, 19, s.Freq(db.Peek(key)), 6, "nothing decays")
}
