package persistence

import (
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
)

// fillWithStrings sets n keys with names that are too long for a buffer on the stack.
func fillWithStrings(n int) *store.Store {
	st := store.New(1, store.Limits{})
	for i := range n {
		st.DB(0).Loading().String([]byte("a key with a name of forty bytes and more "+strconv.Itoa(i)), []byte("value"), int64(i%2)*4e12)
	}
	return st
}

// TestSaveMakesNoGarbageByTheKey: a save allocates nothing for each key, because a collection during a save
// would take the processors from all other work.
func TestSaveMakesNoGarbageByTheKey(t *testing.T) {
	st := fillWithStrings(5000)
	for _, o := range []SaveOptions{{}, {Compress: true, Checksum: true, Breathe: func(int) {}}} {
		got := testing.AllocsPerRun(3, func() {
			snap := st.Cut()
			_, err := Save(io.Discard, snap, o)
			snap.Release()
			require.NoError(t, err)
		})
		require.Less(t, got, 100.0)
	}
}

// BenchmarkSave saves a thousand short strings.
func BenchmarkSave(b *testing.B) {
	st := fillWithStrings(1000)
	b.ReportAllocs()
	for b.Loop() {
		snap := st.Cut()
		if _, err := Save(io.Discard, snap, SaveOptions{Checksum: true}); err != nil {
			b.Fatal(err)
		}
		snap.Release()
	}
}
