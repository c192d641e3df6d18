package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestPermits: the sum of permits in a semaphore with many holders is equal to a new count, whatever changed
// the hash.
func TestPermits(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	s := New(2, tightLimits())
	nowMS := int64(1_750_000_000_000)
	s.SetNow(nowMS * 1000)
	db, key := s.DB(0), []byte("s")
	var cut *Snapshot
	kept := 0
	for step := range testkit.Steps(5000, 200_000) {
		e := db.EditHash(key)
		owner, token := fmt.Appendf(nil, "owner%d", random.IntN(90)), 1000+step
		switch n := random.IntN(40); {
		case n < 20:
			e.Update(owner, fmt.Appendf(nil, "$%d:%d:0", token, random.IntN(9)))
			e.ExpireField(owner, nowMS+1+random.Int64N(400))
		case n < 24:
			e.Delete(owner)
		case n < 26:
			e.Set(owner, fmt.Appendf(nil, "$%d:%d:0:w", token, random.IntN(9)))
		case n < 27:
			e.SetInt(owner, 7)
		case n < 28:
			e.Update([]byte(ShareField), []byte(SemaphoreMode))
			e.SetInt([]byte(LimitField), 5)
		case n < 29:
			if db.Peek(key).OK() {
				db.Rename(key, []byte("t"))
				db.Rename([]byte("t"), key)
			}
		case n < 30 && cut == nil:
			cut = s.Cut()
		case n < 31 && cut != nil:
			cut.Release()
			cut = nil
		case n < 36:
			nowMS += random.Int64N(20)
			s.SetNow(nowMS * 1000)
			s.ExpireDue(100)
		}
		h := db.Peek(key).Hash()
		if h == nil {
			continue
		}
		if h.Tally() != nil {
			kept++
		}
		sum, holders := countHolders(h)
		require.Equal(t, sum, Permits(h), "step %d", step)
		if tally := h.Tally(); tally != nil {
			require.Equal(t, holders, tally.Holders, "step %d", step)
		}
		want := map[int64]bool{}
		h.Each(func(_, value []byte) bool {
			if token, _, ok := ShareToken(value); ok {
				want[token] = true
			}
			return true
		})
		if random.IntN(10) == 0 {
			for token := range want {
				value, _ := h.Get(nil, []byte(OwnerOfToken(h, token)))
				got, _, _ := ShareToken(value)
				require.Equal(t, token, got, "step %d", step)
			}
			require.Empty(t, OwnerOfToken(h, 5))
		}
	}
	require.Positive(t, kept, "it was kept")
	if cut != nil {
		cut.Release()
	}
}

func TestSharePermits(t *testing.T) {
	for value, want := range map[string]int64{"": 0, "5": 0, "$1:5:0": 5, "$1:5:0:w": 5, "$1:-5:0": 0, "$1:x:0": 0, "$0:5:0": 0, "$x:5:0": 0,
		"$1": 0, "$1:5": 0, "$1:5:1": 0, "$1:5:x": 0, "$1:5:0:x": 0, "$9007199254740991:5:0": 0, "$1:99999999999:0": 1<<31 - 1} {
		require.Equal(t, want, SharePermits([]byte(value)), value)
	}
}

// TestSemaphoreMadeAtOnce: a semaphore that is made at once is equal to a semaphore that is made field by
// field.
func TestSemaphoreMadeAtOnce(t *testing.T) {
	for _, c := range []struct {
		owner string
		limit int64
	}{{"a", 1}, {"17", 5}, {strings.Repeat("o", 16), 1_000_000_000}, {strings.Repeat("o", 17), 7}} {
		var made [2]string
		for i := range made {
			s, db := openTestStore()
			s.Record(true)
			e, _ := db.OpenHash([]byte("k"))
			text := []byte("$1:1:0")
			if i == 0 {
				e.MakeSemaphore([]byte(c.owner), text, 1, c.limit, 5000)
			} else {
				e.Update([]byte(c.owner), text)
				e.Update([]byte(ShareField), []byte(SemaphoreMode))
				e.SetInt([]byte(LimitField), c.limit)
				e.Expire(5000)
				e.ExpireField([]byte(c.owner), 5000)
			}
			r := db.Peek([]byte("k"))
			h := r.Hash()
			made[i] = fmt.Sprint(r.DeadlineMS(), " ", h.Deadline([]byte(c.owner)), " ", h.Quiet(), " ", db.Keys().TimedHashes(), " ", s.Dirty(), " ", s.HighestToken(), " ", s.Used(), " ", db.Keys().Holders(), " ", h.Encoding(), " ", Permits(h))
			for _, effect := range s.TakeEffects() {
				made[i] += fmt.Sprintf(" %q", effect.Args)
			}
			h.Each(func(field, value []byte) bool {
				made[i] += fmt.Sprintf(" %s=%s", field, value)
				return true
			})
		}
		require.Equal(t, made[1], made[0])
	}
}
