package persistence

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/tests/testkit"
)

// Strings are read ahead. With any other entries between them, all keys arrive, in the order of the file.
func TestLoadedStringsAreAllThere(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	total := testkit.Steps(3_000, 12_000)
	for _, claimed := range []int{-1, 0, 1, 9, 1000, total, 100_000, math.MaxInt} {
		var file bytes.Buffer
		w := rdb.NewWriter(&file, rdb.WriterOptions{})
		var want [2][]string // the expected keys of each database
		for len(want[0]) == 0 || len(want[1]) == 0 || len(want[0])+len(want[1]) < total {
			if db := rng.IntN(2); want[0] == nil || rng.IntN(50) == 0 {
				w.SelectDB(db)
				if claimed >= 0 {
					w.ResizeDB(claimed, 0)
				}
				for range 1 + rng.IntN(800) {
					want[db] = append(want[db], writeAny(w, rng, len(want[db])))
				}
			}
		}
		require.NoError(t, w.Close())
		for _, in := range []io.Reader{bytes.NewReader(file.Bytes()), io.MultiReader(bytes.NewReader(file.Bytes()))} { // the second reader has no method Size
			st := storeWith(store.AllKeysLRU)
			got, err := Load(in, st, LoadOptions{})
			require.NoError(t, err)
			require.Equal(t, len(want[0])+len(want[1]), got.Keys)
			for db := range want {
				var have []string
				st.DB(db).Keys().Each(func(key string, r store.Ref) bool {
					text := ""
					if r.Kind() == store.String {
						text = string(r.Bytes())
					}
					have = append(have, describeAny(key, text, r.DeadlineMS(), st.IdleS(r)))
					return true
				})
				require.Equal(t, want[db], have)
				for _, key := range []string{"0", strconv.Itoa(len(have) - 1)} {
					require.True(t, st.DB(db).Peek([]byte(key)).OK())
				}
			}
		}
	}
}

// writeAny writes the n-th key of a database, mostly a short string, and returns the expected value.
func writeAny(w *rdb.Writer, rng *rand.Rand, n int) string {
	idleS, deadlineMS := int64(0), int64(0)
	if rng.IntN(4) == 0 {
		idleS = 1 + rng.Int64N(1000)
		w.Idle(uint64(idleS))
	}
	if rng.IntN(4) == 0 {
		deadlineMS = useNowUS/1000 + 1 + rng.Int64N(1000)
	}
	key, text := strconv.Itoa(n), ""
	w.Key([]byte(key), deadlineMS)
	switch rng.IntN(100) {
	case 0:
		w.Hash(1)
		w.Field([]byte("f"), []byte("v"))
	case 1:
		text = string(make([]byte, rng.IntN(2*aheadBytes)))
		w.String([]byte(text))
	case 2:
		number := rng.Int64() >> rng.IntN(63)
		text = strconv.FormatInt(number, 10)
		w.String([]byte(text))
	default:
		text = fmt.Sprint("value ", rng.IntN(1000))
		w.String([]byte(text))
	}
	return describeAny(key, text, deadlineMS, idleS)
}

func describeAny(key, text string, deadlineMS, idleS int64) string {
	return fmt.Sprintf("%s %.20q and %d bytes until %d, idle %d s", key, text, len(text), deadlineMS, idleS)
}

// The error for a key that occurs twice in a file has the offset after the second, at any distance from the
// first.
func TestLoadNamesTheDuplicate(t *testing.T) {
	for _, distance := range []int{1, 2, store.MaxPrefetch - 1, store.MaxPrefetch, store.MaxPrefetch + 1, 3000} {
		for _, before := range []int{0, 1, 100, 6000} {
			var file bytes.Buffer
			w := rdb.NewWriter(&file, rdb.WriterOptions{})
			w.SelectDB(1)
			entry := func(key string) {
				w.Key([]byte(key), 0)
				w.String([]byte("v"))
			}
			for i := range before + distance {
				entry("key" + strconv.Itoa(i))
			}
			entry("key" + strconv.Itoa(before))
			end := w.Written()
			for i := range 200 {
				entry("behind" + strconv.Itoa(i))
			}
			require.NoError(t, w.Close())
			got, err := Load(bytes.NewReader(file.Bytes()), store.New(2, store.Limits{}), LoadOptions{})
			require.EqualError(t, err, fmt.Sprintf(`rdb: offset %d: corrupt: key "key%d" (string): the key occurs twice in database 1`, end, before))
			require.ErrorIs(t, err, rdb.ErrCorrupt)
			require.Equal(t, before+distance, got.Keys)
		}
	}
}

// The number of keys that a file claims costs no more memory than the file could fill.
func TestLoadDoesNotTrustTheClaimedSize(t *testing.T) {
	var file bytes.Buffer
	w := rdb.NewWriter(&file, rdb.WriterOptions{})
	for db := range 2 {
		w.SelectDB(db)
		w.ResizeDB(math.MaxInt, math.MaxInt)
		w.Key([]byte("k"), 0)
		w.String([]byte("v"))
	}
	require.NoError(t, w.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Load(bytes.NewReader(file.Bytes()), store.New(2, store.Limits{}), LoadOptions{})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// Repeated claims for databases that keep no key cost no memory either.
func TestLoadReservesOnceForAll(t *testing.T) {
	var file bytes.Buffer
	w := rdb.NewWriter(&file, rdb.WriterOptions{})
	for i := range 20_000 {
		w.SelectDB(i % 2)
		w.ResizeDB(math.MaxInt, math.MaxInt)
		w.Key([]byte("k"), 1) // overdue
		w.String([]byte("v"))
	}
	require.NoError(t, w.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := Load(bytes.NewReader(file.Bytes()), storeWith(store.NoEviction), LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, 20_000, got.Expired)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*file.Len()))
}

// BenchmarkLoad loads strings of 64 bytes.
func BenchmarkLoad(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000} {
		b.Run(strconv.Itoa(keys), func(b *testing.B) {
			var file bytes.Buffer
			w := rdb.NewWriter(&file, rdb.WriterOptions{})
			w.SelectDB(0)
			w.ResizeDB(keys, 0)
			for i := range keys {
				w.Key(fmt.Appendf(nil, "key:%012d", i), 0)
				w.String(bytes.Repeat([]byte{byte(i)}, 64))
			}
			require.NoError(b, w.Close())
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				_, err := Load(bytes.NewReader(file.Bytes()), store.New(1, store.Limits{}), LoadOptions{})
				require.NoError(b, err)
			}
		})
	}
}
