package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is expected, and whenever keys are prefetched, the data are those of a map.
func TestExpectIsOnlyAGuess(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s := New(1, Limits{})
	s.SetNow(1_000_000)
	db := s.DB(0)
	want := make(map[string]string)
	var slots [16]int
	for i := range 200_000 {
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
			_, there := want[string(key)]
			require.Equal(t, there, db.Delete(key))
			delete(want, string(key))
		case n < 16:
			val := fmt.Appendf(nil, "v%d", i)
			ttl := NoTTL
			if r.IntN(2) == 0 {
				ttl = 1 << 40
			}
			db.SetString(key, val, ttl)
			want[string(key)] = string(val)
		default:
			ref := db.Peek(key)
			val, there := want[string(key)]
			require.Equal(t, there, ref.OK())
			if there {
				require.Equal(t, val, string(ref.Bytes()))
			}
		}
	}
	require.Equal(t, len(want), db.Len())
}
