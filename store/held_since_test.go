package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/due"
	"lockserver/store/hash"
	"lockserver/tests/testkit"
)

// earliestHold walks all slots to compute the expected result of HeldSince, and checks the bounds on the way.
func earliestHold(t *testing.T, s *Store) int64 {
	earliest := int64(due.Never)
	for _, db := range s.dbs {
		sp := db.space
		for slot := range sp.keys.Len() {
			if r := sp.refAt(slot); db.space.live(r) && owners(r.v) > 0 {
				sinceMS := sp.heldMS(slot, r.v)
				if bound := sp.heldSince.Of(slot >> boundBits); bound > sinceMS {
					require.Fail(t, "a bound is too high", "slot %d since %d, bound %d", slot, sinceMS, bound)
				}
				earliest = min(earliest, sinceMS)
			}
		}
	}
	if earliest == due.Never {
		return 0
	}
	return earliest
}

// TestHeldSince creates, removes and moves locks in every way, and compares HeldSince with a walk through all
// of them.
func TestHeldSince(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	s := New(2, Limits{Hash: hash.Limits{Entries: 8, Value: 16}})
	nowMS := int64(1_750_000_000_000)
	for step := range 30_000 {
		nowMS += int64(random.IntN(10))
		s.SetNow(nowMS * 1000)
		db, key := s.DB(random.IntN(2)), fmt.Appendf(nil, "k%d", random.IntN(400))
		switch random.IntN(20) {
		case 0, 1, 2, 3, 4, 5, 6:
			acquire(db, key, nowMS, random)
		case 7, 8, 9, 10, 11, 12, 13:
			db.Delete(key)
		case 14:
			db.EditString(key).Set([]byte("v"), NoTTL)
		case 15:
			if e, ok := db.OpenHash(key); ok {
				e.Delete([]byte("owner"))
			}
		case 16:
			if db.Peek(key).OK() {
				db.Rename(key, append(key, 'x'))
			}
		case 17:
			db.Move(key, s.DB(random.IntN(2)))
		case 18:
			s.ExpireDue(100)
		case 19:
			switch random.IntN(200) {
			case 0:
				s.SwapDB(db, s.DB(random.IntN(2)))
			case 1:
				db.Flush()
			}
		}
		if random.IntN(20) == 0 {
			require.Equal(t, earliestHold(t, s), s.HeldSince(math.MaxInt), "step %d", step)
		}
	}
}

// acquire makes a lock like LOCK, with and without SHARED, or like a replica, which keeps no record.
func acquire(db *DB, key []byte, nowMS int64, random *rand.Rand) {
	db.Delete(key)
	e := db.EditHash(key)
	token := nowMS*1000 + int64(random.IntN(1000))
	if random.IntN(4) == 0 {
		e.Set([]byte("owner"), fmt.Appendf(nil, "$%d:1:0", token))
		e.Set([]byte("other"), fmt.Appendf(nil, "$%d:1:0", token+5000))
		e.Set([]byte(ShareField), []byte("read"))
	} else {
		e.SetInt([]byte("owner"), 1)
		e.SetInt([]byte(TokenField), token)
	}
	e.Expire(nowMS + 1 + int64(random.IntN(5000)))
	if random.IntN(2) == 0 {
		e.SetLockRecord(uint64(7)<<RecordTimeBits | uint64(nowMS))
	}
}

// TestHeldSinceIsBounded: a search examines only a few groups, and the next one continues from there.
func TestHeldSinceIsBounded(t *testing.T) {
	s := New(1, Limits{Hash: hash.Limits{Entries: 8, Value: 16}})
	db := s.DB(0)
	lock := func(i int, atMS int64) {
		s.SetNow(atMS * 1000)
		e := db.EditHash(fmt.Appendf(nil, "k%d", i))
		e.SetInt([]byte("owner"), 1)
		e.SetInt([]byte(TokenField), atMS*1000)
	}
	const groups, inGroup = 20, 1 << boundBits
	for i := range groups * inGroup {
		lock(i, int64(1000+i))
	}
	require.EqualValues(t, 1000, s.HeldSince(1), "one look finds what nothing has changed")
	for i := range groups - 1 { // the first lock of all groups except the last is overwritten in place
		db.EditString(fmt.Appendf(nil, "k%d", i*inGroup)).Set([]byte("v"), NoTTL)
	}
	want := earliestHold(t, s)
	require.EqualValues(t, 1001, want)
	searches := 0
	for s.HeldSince(1) != want {
		searches++
		require.LessOrEqual(t, searches, groups)
	}
}
