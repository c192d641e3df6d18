package store

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestDrainIsExactWhateverHappens drains snapshots of two databases, one after the other, on another
// goroutine. Meanwhile strings and hashes are written, keys are removed, and databases are swapped and
// emptied. It is for the race detector, too.
func TestDrainIsExactWhateverHappens(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	s := New(2, Limits{})
	keys := testkit.Steps(12_000, 40_000)
	writes := keys * 3 / 4
	name := func() []byte { return strconv.AppendInt(nil, rng.Int64N(int64(keys)), 10) }
	for round := range 8 {
		want := [2]map[string]string{{}, {}}
		for i := range 2 {
			for s.DB(i).Len() < keys/2 {
				s.DB(i).EditString(name()).Set(strconv.AppendInt(nil, rng.Int64(), 10), NoTTL)
			}
			h, _ := s.DB(i).OpenHash([]byte("h"))
			h.SetInt([]byte("f"), int64(round))
		}
		snap := s.Cut()
		for i := range want {
			snap.Each(i, func(key string, r Ref) bool { want[i][key] = contentOf(r); return true })
		}
		got := [2]map[string]string{{}, {}}
		var reader sync.WaitGroup
		reader.Go(func() {
			for i := range got {
				snap.Drain(i, func(key string, r Ref) bool { got[i][key] = contentOf(r); return true })
			}
		})
		for i := range writes {
			db := s.DB(rng.IntN(2))
			switch rng.IntN(10) {
			case 0:
				db.Delete(name())
			case 1:
				h, _ := db.OpenHash([]byte("h"))
				h.SetInt([]byte("f"), int64(-i))
			case 2:
				key := name()
				slot, _ := db.FindState(key)
				db.PutState(slot, key, strconv.AppendInt(nil, 1_000_000_000_000_000_000+int64(i), 10), int64(1_000_000+i))
			default:
				db.EditString(name()).Set(strconv.AppendInt(nil, int64(-i), 10), NoTTL)
			}
			switch {
			case i == writes/3 && round%3 == 1:
				s.SwapDB(s.DB(0), s.DB(1))
			case i == writes/3 && round%3 == 2:
				s.FlushAll()
			case i == writes*2/3 && round%4 == 3:
				s.DB(1).Flush()
			}
		}
		reader.Wait()
		snap.Release()
		for i := range want {
			require.Len(t, got[i], len(want[i]))
			for key, v := range want[i] {
				if got[i][key] != v {
					require.Equal(t, v, got[i][key], "round %d, database %d, key %s", round, i, key)
				}
			}
		}
	}
}

func contentOf(r Ref) (content string) {
	if r.Kind() == String {
		return string(r.Bytes())
	}
	r.Hash().Each(func(field, val []byte) bool { content += string(field) + "=" + string(val); return true })
	return content
}
