package slotdata

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
)

// TestCleaningIsBounded: a step deletes at most the given number of keys, each by an effect. All keys of the
// slots go while clients write and delete keys of other slots, and while what falls due makes keys of the
// slots again, for a time.
func TestCleaningIsBounded(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 13))
		st, most := newStore(), 1+r.IntN(40)
		db := st.DB(0)
		fill(st, 2000, lower)
		st.SetNow(nowUS + 300_000) // some keys are overdue
		want := map[string]bool{}
		db.Keys().EachStored(func(key string, _ store.Ref) bool {
			if !lower.Has([]byte(key)) {
				want[key] = true
			}
			return true
		})
		st.Record(true)
		c, steps := NewCleaning(st, lower), 0
		for done := false; !done; steps++ {
			before := db.Len()
			done = c.Step(most)
			require.LessOrEqual(t, before-db.Len(), most)
			require.Len(t, st.TakeEffects(), before-db.Len())
			for range r.IntN(8) { // clients write to other slots
				key := fmt.Appendf(nil, "key:%d", r.IntN(4000))
				switch {
				case lower.Has(key):
				case r.IntN(2) == 0:
					db.EditString(key).Set(key, store.NoTTL)
					want[string(key)] = true
				default:
					st.SetFrozenTime(true)
					db.Delete(key)
					st.SetFrozenTime(false)
					delete(want, string(key))
				}
			}
			if key := fmt.Appendf(nil, "key:%d", r.IntN(4000)); lower.Has(key) && r.IntN(2000) > steps*most {
				db.EditString(key).Set([]byte("added"), store.NoTTL)
			}
			st.TakeEffects()
		}
		require.Greater(t, steps, 1500/most)
		have := map[string]bool{}
		db.Keys().EachStored(func(key string, _ store.Ref) bool { have[key] = true; return true })
		require.Equal(t, want, have, "seed %d", seed)
	}
}
