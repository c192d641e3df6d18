package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/hash"
)

// TestLockMadeAtOnce: a lock that is made at once is equal to a lock that is made field by field, for each
// form of the hash. A second hold allocates no memory.
func TestLockMadeAtOnce(t *testing.T) {
	for _, limits := range []hash.Limits{{Entries: 128, Value: 64}, {Entries: 2, Value: 64}, {Entries: 128, Value: 16}} {
		for _, owner := range []string{"a", "17", strings.Repeat("o", 63), strings.Repeat("o", 64), strings.Repeat("o", 65)} {
			for _, renewed := range []bool{false, true} {
				for _, atMS := range []int64{5000, 900} {
					var made [2]string
					for i := range made {
						made[i] = madeLock(t, limits, owner, renewed, atMS, i == 0)
					}
					require.Equal(t, made[1], made[0], "%v %s %v %d", limits, owner, renewed, atMS)
				}
			}
		}
	}
}

// madeLock describes a store in which a lock was made.
func madeLock(t *testing.T, limits hash.Limits, owner string, renewed bool, atMS int64, atOnce bool) string {
	s := New(1, Limits{Hash: limits})
	s.SetNow(1_000_000)
	s.Record(true)
	db, key, token := s.DB(0), []byte("lock"), int64(1_750_000_000_000_000)
	e, ok := db.OpenHash(key)
	require.True(t, ok)
	if atOnce {
		e.MakeLock([]byte(owner), token, renewed, atMS)
	} else {
		e.SetInt([]byte(owner), 1)
		if renewed {
			e.Update([]byte(WatchdogField), []byte("1"))
		}
		e.SetInt([]byte(TokenField), token)
		e.Expire(atMS)
	}
	r := db.Peek(key)
	text := fmt.Sprint(r.DeadlineMS(), " ", s.Dirty(), " ", s.HighestToken(), " ", s.Used(), " ", db.Keys().Holders(), " ", db.Len())
	for _, effect := range s.TakeEffects() {
		text += fmt.Sprintf(" %q", effect.Args)
	}
	h := e.Hash()
	h.Each(func(field, value []byte) bool {
		text += fmt.Sprintf(" %s=%s", field, value)
		return true
	})
	e.SetInt([]byte(owner), 2)
	if atOnce {
		require.Same(t, h, e.Hash())
	}
	return text + " " + h.Encoding()
}

// TestOneOwner: in the form that MakeLock makes, the owner, the holds and the token are found.
func TestOneOwner(t *testing.T) {
	s := New(1, Limits{Hash: hash.Limits{Entries: 128, Value: 64}})
	for _, c := range []struct {
		owner   string
		renewed bool
		want    bool
	}{{"a", false, true}, {strings.Repeat("o", 63), false, true}, {"a", true, false}, {"17", false, false}, {strings.Repeat("o", 64), false, false}} {
		e := s.DB(0).EditHash([]byte("lock"))
		e.MakeLock([]byte(c.owner), 77, c.renewed, 5000)
		e.SetInt([]byte(c.owner), 3)
		owner, holds, token, ok := OneOwner(e.Hash())
		require.Equal(t, c.want, ok, c.owner)
		if ok {
			require.Equal(t, []any{c.owner, int64(3), int64(77)}, []any{string(owner), holds, token})
		}
		e.SetInt([]byte("another"), 1)
		_, _, _, ok = OneOwner(e.Hash())
		require.False(t, ok)
		e.Remove()
	}
}
