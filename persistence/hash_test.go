package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/store/hash"
)

const nowMS = 1_700_000_000_000

func newStore(hashEntries int) *store.Store {
	st := store.New(2, store.Limits{Hash: hash.Limits{Entries: hashEntries, Value: 64}})
	st.SetNow(nowMS * 1000)
	return st
}

// saved returns a snapshot of st, and its version of the format.
func saved(t *testing.T, st *store.Store) (file []byte, version string) {
	t.Helper()
	var b bytes.Buffer
	snap := st.Cut()
	_, err := Save(&b, snap, SaveOptions{Checksum: true, Compress: true})
	require.NoError(t, err)
	snap.Release()
	return b.Bytes(), string(b.Bytes()[:9])
}

// timedFields returns the fields of a hash: "value at deadline" by field.
func timedFields(st *store.Store, key string) map[string]string {
	got := map[string]string{}
	if h := st.DB(0).Peek([]byte(key)).Hash(); h != nil {
		h.EachTimed(func(field, value []byte, atMS int64) bool {
			got[string(field)] = fmt.Sprintf("%s at %d", value, atMS)
			return true
		})
	}
	return got
}

// Deadlines of fields survive a snapshot, in version 12 of the format. Without such deadlines the snapshot
// has version 10, which older servers can read.
func TestFieldDeadlinesRoundTrip(t *testing.T) {
	for _, c := range []struct{ entries, fields int }{{512, 3}, {512, 100}, {0, 3}, {0, 100}, {0, 2000}} {
		st := newStore(c.entries)
		e, _ := st.DB(0).OpenHash([]byte("h"))
		for i := range c.fields {
			e.Set(fmt.Append(nil, "f", i), fmt.Append(nil, i))
		}
		_, version := saved(t, st)
		require.Equal(t, "REDIS0010", version)
		for i := 1; i < c.fields; i += 2 {
			e.ExpireField(fmt.Append(nil, "f", i), nowMS+int64(i*i))
		}
		file, version := saved(t, st)
		require.Equal(t, "REDIS0012", version)

		loaded := newStore(c.entries)
		got, err := Load(bytes.NewReader(file), loaded, LoadOptions{})
		require.NoError(t, err)
		require.Equal(t, Loaded{Keys: 1, Bytes: int64(len(file)), Version: 12}, got)
		require.Equal(t, timedFields(st, "h"), timedFields(loaded, "h"))
		require.Equal(t, st.DB(0).Peek([]byte("h")).Encoding(), loaded.DB(0).Peek([]byte("h")).Encoding())
		next, ok := loaded.NextDeadlineMS()
		require.True(t, ok)
		require.Equal(t, int64(nowMS+2), next)
		loaded.SetNow((nowMS + 2) * 1000)
		loaded.ExpireDue(100)
		require.Equal(t, c.fields-1, loaded.DB(0).Peek([]byte("h")).Hash().Len())

		for i := 1; i < c.fields; i += 2 {
			e.PersistField(fmt.Append(nil, "f", i))
		}
		_, version = saved(t, st)
		require.Equal(t, "REDIS0010", version)
	}
}

// Data that has expired since the snapshot was taken is not loaded: a field, or a hash with all its fields.
func TestOverdueFieldsAreNotLoaded(t *testing.T) {
	st := newStore(512)
	for _, key := range []string{"h", "all"} {
		e, _ := st.DB(0).OpenHash([]byte(key))
		e.Set([]byte("a"), []byte("1"))
		e.Set([]byte("b"), []byte("2"))
		e.ExpireField([]byte("a"), nowMS+10)
		if key == "all" {
			e.ExpireField([]byte("b"), nowMS+5)
		}
	}
	file, _ := saved(t, st)
	loaded := newStore(512)
	loaded.SetNow((nowMS + 11) * 1000)
	got, err := Load(bytes.NewReader(file), loaded, LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, Loaded{Keys: 1, Expired: 1, Bytes: int64(len(file)), Version: 12}, got)
	require.Equal(t, map[string]string{"b": "2 at 0"}, timedFields(loaded, "h"))
	require.Equal(t, 1, loaded.DB(0).Len())
	_, any := loaded.NextDeadlineMS()
	require.False(t, any)
}
