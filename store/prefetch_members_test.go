package store

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrefetchMembers: prefetching works for existing and missing members, in small and large containers and
// for missing keys, and changes nothing.
func TestPrefetchMembers(t *testing.T) {
	s := New(1, Limits{})
	db := s.DB(0)
	members := make([][]byte, MaxPrefetch)
	for i := range members {
		members[i] = []byte("m" + strconv.Itoa(100*i))
	}
	members[1] = nil
	for _, n := range []int{1, 10_000} {
		set, hash := db.EditSet([]byte("s")), db.EditHash([]byte("h"))
		for i := range n {
			m := []byte("m" + strconv.Itoa(i))
			set.Add(m)
			hash.Set(m, m)
		}
		hash.Set([]byte("m100"), nil)
		dirty, sum := s.Dirty(), s.prefetched
		for _, key := range []string{"s", "h", "gone"} {
			db.PrefetchMembers([]byte(key), members)
		}
		db.PrefetchMembers([]byte("s"), nil)
		require.Equal(t, dirty, s.Dirty())
		require.Equal(t, n > 1, s.prefetched != sum, "only what is large is worth it")
	}
	db.EditString([]byte("text")).Set([]byte("x"), NoTTL)
	db.PrefetchMembers([]byte("text"), members)
}
