package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// dyings is a witness that records the expired keys.
type dyings struct {
	t    *testing.T
	s    *Store
	ends map[string]int64
	last int64
	died int
}

func (d *dyings) KeyExpired(db *DB, key []byte) {
	name := fmt.Sprint(db.ID(), string(key))
	end, ok := d.ends[name]
	require.True(d.t, ok, "%s has no deadline", name)
	require.LessOrEqual(d.t, end, d.s.NowMS(), "%s died too soon", name)
	require.LessOrEqual(d.t, d.last, end, "%s died out of order", name)
	d.last = end
	d.died++
	delete(d.ends, name)
}

func (d *dyings) KeyEvicted(*DB, []byte)          {}
func (d *dyings) FieldsExpired(*DB, []byte, bool) {}
func (d *dyings) KeyMade(*DB, []byte)             {}
func (d *dyings) KeyMissed(*DB, []byte)           {}

// TestKeysDieInOrder: after any writes, changes of deadlines, removals and moves, ExpireDue removes each due
// key, the earliest first, and no other key. NextDeadlineMS is not later than any deadline.
func TestKeysDieInOrder(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range testkit.Steps(12, 20) {
		s := New(3, Limits{})
		d := &dyings{t: t, s: s, ends: map[string]int64{}}
		s.SetWitness(d)
		s.SetNow(1_000_000_000)
		keys, spread := 1+rng.IntN(3000), 1+rng.Int64N(5000)
		for range 5000 {
			db, key := s.DB(rng.IntN(2)), fmt.Append(nil, "k", rng.IntN(keys))
			name := fmt.Sprint(db.ID(), string(key))
			switch at := s.NowMS() + 1 + rng.Int64N(spread); rng.IntN(8) {
			case 0:
				db.Delete(key)
				delete(d.ends, name)
			case 1:
				db.Persist(key)
				delete(d.ends, name)
			case 2:
				if db.Expire(key, at) {
					d.ends[name] = at
				}
			case 3:
				db.EditString(key).Set(key, NoTTL)
				delete(d.ends, name)
			default:
				db.EditString(key).Set(key, TTL(at))
				d.ends[name] = at
			}
			if rng.IntN(100) == 0 {
				s.SetNow(s.nowUS + 1000*rng.Int64N(spread))
				for d.last = 0; s.ExpireDue(1 + rng.IntN(300)); {
				}
				for name, end := range d.ends {
					if end < s.NowMS() {
						require.GreaterOrEqual(t, end, s.NowMS(), "%s lives on", name)
					}
				}
				next, ok := s.NextDeadlineMS()
				for _, end := range d.ends {
					if !ok || next > end+1 {
						require.Fail(t, "the next deadline is wrong", "%d %v, and a key ends at %d", next, ok, end)
					}
				}
			}
		}
		require.Positive(t, d.died)
		require.Equal(t, len(d.ends), s.DB(0).Keys().Timed()+s.DB(1).Keys().Timed())
		requireUsed(t, s, "at the end")
	}
}

// TestPuttingOffIsFree: extending a lease again and again does not cause a search through the keys for each
// time.
func TestPuttingOffIsFree(t *testing.T) {
	s := New(1, Limits{})
	db := s.DB(0)
	const n, lease = 64 * 100, 30_000
	key := func(i int) []byte { return fmt.Append(nil, "k", i) }
	for i := range n {
		db.EditString(key(i)).Set(nil, TTL(lease))
	}
	looks := 0
	for now := int64(0); now < 10*lease; now += lease / 3 {
		s.SetNow(now * 1000)
		for s.ExpireDue(1) {
			looks++
		}
		for i := range n {
			require.True(t, db.Expire(key(i), now+lease))
		}
	}
	require.Equal(t, n, db.Len())
	require.LessOrEqual(t, looks, 16*n/64, "looks for early bounds")
}

// TestAnyTimedIsFair: each key with a deadline is found about as often as the others.
func TestAnyTimedIsFair(t *testing.T) {
	for _, every := range []int{1, 7, 1000} {
		s := New(1, Limits{})
		for i := range 20_000 {
			ttl := NoTTL
			if i%every == 0 {
				ttl = 1 << 40
			}
			s.DB(0).EditString(fmt.Append(nil, i)).Set(nil, ttl)
		}
		sp, chance := s.DB(0).space, rand.New(rand.NewPCG(1, uint64(every)))
		counts := make([]int, 20_000)
		const picks = 50
		for range picks * sp.timed {
			slot := sp.anyTimed(chance)
			if sp.keys.Side(slot) == 0 {
				require.Fail(t, "a key without a deadline", "slot %d", slot)
			}
			counts[slot]++
		}
		counts = slices.DeleteFunc(counts, func(n int) bool { return n == 0 })
		require.Len(t, counts, sp.timed, "each is found")
		require.Less(t, slices.Max(counts), 4*picks)
	}
}

// TestAnyTimedPassesOver: keys that no longer have a deadline do not count.
func TestAnyTimedPassesOver(t *testing.T) {
	s := New(1, Limits{})
	db := s.DB(0)
	for i := range 10_000 {
		db.EditString(fmt.Append(nil, i)).Set(nil, 1<<40)
	}
	for i := range 10_000 {
		if i != 1234 {
			db.Persist(fmt.Append(nil, i))
		}
	}
	chance := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		require.Equal(t, 1234, db.space.anyTimed(chance))
	}
	db.Persist([]byte("1234"))
	require.Equal(t, -1, db.space.anyTimed(chance))
}

// TestTimedFrom: pieces of limited size visit each key with a deadline, or with fields that have one, once,
// and no other key. Deadlines may change meanwhile.
func TestTimedFrom(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		db := New(1, Limits{}).DB(0)
		want := map[string]int{}
		for i := range rng.IntN(2000) {
			key := fmt.Appendf(nil, "key %d", i)
			switch rng.IntN(5) {
			case 0:
				e := db.EditHash(key)
				e.Set([]byte("a"), []byte("1"))
				e.ExpireField([]byte("a"), 1000)
				want[string(key)] = 1
			case 1:
				db.EditString(key).Set(key, 0)
				db.Expire(key, 1000)
				want[string(key)] = 1
			default:
				db.EditString(key).Set(key, 0)
			}
		}
		most, got := 1+rng.IntN(50), map[string]int{}
		for cursor := 0; cursor >= 0; {
			visits := 0
			cursor = db.Keys().TimedFrom(cursor, most, func(key string, r Ref) {
				visits++
				if got[key]++; r.DeadlineMS() != 0 {
					db.Expire([]byte(key), 2000)
				}
			})
			require.LessOrEqual(t, visits, most)
		}
		require.Equal(t, want, got)
	}
}
