package persistence

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/store"
)

const useNowUS = 1_700_000_000_000_000

func storeWith(policy store.Policy) *store.Store {
	st := store.New(2, store.Limits{})
	st.SetMemory(store.Memory{Policy: policy, Samples: 5, LogFactor: 10, DecayMinutes: 1}, rand.New(rand.NewPCG(1, 1)))
	st.SetNow(useNowUS)
	return st
}

// readUses returns the idle times and frequencies of the keys in a file.
func readUses(t *testing.T, file []byte) map[string][2]int64 {
	t.Helper()
	in := rdb.NewReader(bytes.NewReader(file), rdb.ReaderOptions{Databases: 2})
	got := map[string][2]int64{}
	for {
		e, err := in.Next()
		if err != nil {
			return got
		}
		got[string(e.Key)] = [2]int64{e.IdleSec, int64(e.Freq)}
	}
}

func fileOf(t *testing.T, snap *store.Snapshot) []byte {
	t.Helper()
	var file bytes.Buffer
	_, err := Save(&file, snap, SaveOptions{Checksum: true})
	require.NoError(t, err)
	return file.Bytes()
}

// The use of a key is saved under the eviction policies that record it, and restored under them.
func TestUseIsSaved(t *testing.T) {
	for _, tt := range []struct {
		policy    store.Policy
		old, used [2]int64 // idle seconds and frequency in the file
	}{
		{store.NoEviction, [2]int64{-1, -1}, [2]int64{-1, -1}},
		{store.AllKeysRandom, [2]int64{-1, -1}, [2]int64{-1, -1}},
		{store.VolatileTTL, [2]int64{-1, -1}, [2]int64{-1, -1}},
		{store.AllKeysLRU, [2]int64{1000, -1}, [2]int64{0, -1}},
		{store.VolatileLRU, [2]int64{1000, -1}, [2]int64{0, -1}},
		{store.AllKeysLFU, [2]int64{-1, 200 - 17}, [2]int64{-1, 200 - 17}},
		{store.VolatileLFU, [2]int64{-1, 200 - 17}, [2]int64{-1, 200 - 17}},
	} {
		t.Run(strconv.Itoa(int(tt.policy)), func(t *testing.T) {
			st := storeWith(tt.policy)
			for db, key := range []string{"old", "used"} {
				require.True(t, st.DB(db).Loading().String([]byte(key), []byte("v"), 0))
				st.DB(db).Loading().Use([]byte(key), -1, 200)
			}
			st.SetNow(useNowUS + 1_000_000_000) // 1000 seconds, over the end of the counter of 17 minutes
			snap := st.Cut()
			require.True(t, st.DB(1).Find([]byte("used")).OK()) // used after the cut
			file := fileOf(t, snap)
			snap.Release()
			got := readUses(t, file)
			require.Equal(t, tt.old, got["old"])
			if tt.old[1] >= 0 { // the random counter may have been incremented
				require.GreaterOrEqual(t, got["used"][1], tt.used[1])
			} else {
				require.Equal(t, tt.used, got["used"])
			}

			back := storeWith(tt.policy)
			back.SetNow(useNowUS + 2_000_000_000)
			_, err := Load(bytes.NewReader(file), back, LoadOptions{})
			require.NoError(t, err)
			r := back.DB(0).Peek([]byte("old"))
			if back.LFU() {
				require.Equal(t, tt.old[1], back.Freq(r))
			} else {
				require.Equal(t, max(0, tt.old[0]), back.IdleS(r))
			}

			// Under a policy of the other kind the file contains nothing usable.
			other := map[bool]store.Policy{true: store.AllKeysLRU, false: store.AllKeysLFU}[back.LFU()]
			back = storeWith(other)
			_, err = Load(bytes.NewReader(file), back, LoadOptions{})
			require.NoError(t, err)
			r = back.DB(0).Peek([]byte("old"))
			if back.LFU() {
				require.EqualValues(t, 5, back.Freq(r), "as of a new key")
			} else {
				require.Zero(t, back.IdleS(r))
			}
		})
	}
}

// A time before 1970 is ignored.
func TestLoadedIdleTimeIsBounded(t *testing.T) {
	st := storeWith(store.AllKeysLRU)
	st.DB(0).Loading().String([]byte("k"), []byte("v"), 0)
	st.DB(0).Loading().Use([]byte("k"), math.MaxInt64, -1)
	require.EqualValues(t, useNowUS/1_000_000, st.IdleS(st.DB(0).Peek([]byte("k"))))
}

// Keys are used and changed while a snapshot is written, for the race detector.
func TestUseWhileSaving(t *testing.T) {
	for _, policy := range []store.Policy{store.AllKeysLRU, store.AllKeysLFU} {
		st := storeWith(policy)
		keys := make([][]byte, 2000)
		for i := range keys {
			keys[i] = strconv.AppendInt(nil, int64(i), 10)
			st.DB(0).Loading().String(keys[i], []byte("v"), 0)
		}
		snap := st.Cut()
		var writer sync.WaitGroup
		var file []byte
		writer.Go(func() { file = fileOf(t, snap) })
		for i, key := range keys {
			st.SetNow(useNowUS + int64(i)*60_000_000)
			st.DB(0).Find(key)
			if i%100 == 0 {
				st.DB(0).Delete(keys[len(keys)-1-i])
			}
		}
		writer.Wait()
		snap.Release()
		require.Len(t, readUses(t, file), len(keys))
	}
}
