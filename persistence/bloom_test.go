package persistence

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/rdb"
	"lockserver/store"
	"lockserver/store/bloom"
)

// A Bloom filter comes back from a snapshot bit by bit, compressed or not.
func TestBloomSnapshot(t *testing.T) {
	st := store.New(2, store.Limits{})
	for key, items := range map[string]int{"empty": 0, "small": 50, "large": 5000} {
		e, ok := st.DB(1).OpenBloom([]byte(key))
		require.True(t, ok)
		require.NoError(t, e.Reserve(bloom.DefaultParams()))
		for i := range items {
			_, err := e.Add([]byte(strconv.Itoa(i)))
			require.NoError(t, err)
		}
	}
	for _, compress := range []bool{false, true} {
		snap := st.Cut()
		var file bytes.Buffer
		_, err := Save(&file, snap, SaveOptions{Compress: compress, Checksum: true})
		require.NoError(t, err)
		snap.Release()
		back := store.New(2, store.Limits{})
		got, err := Load(bytes.NewReader(file.Bytes()), back, LoadOptions{})
		require.NoError(t, err)
		require.Equal(t, 3, got.Keys)
		for _, key := range []string{"empty", "small", "large"} {
			want, have := st.DB(1).Peek([]byte(key)).Bloom(), back.DB(1).Peek([]byte(key)).Bloom()
			require.Equal(t, want.Header(), have.Header())
			for i := range want.Filters() {
				require.Equal(t, want.Bits(i), have.Bits(i))
			}
			require.Equal(t, want.Size(), have.Size())
		}
		for n := range file.Len() - 1 { // a truncated file is refused
			_, err := Load(bytes.NewReader(file.Bytes()[:n]), store.New(2, store.Limits{}), LoadOptions{})
			require.Error(t, err)
			if n > 2000 {
				break
			}
		}
	}
}

// DUMP accepts a Bloom filter, too. A payload of another module, or of a newer form, is refused.
func TestBloomPayload(t *testing.T) {
	st := store.New(1, store.Limits{})
	e, _ := st.DB(0).OpenBloom([]byte("f"))
	require.NoError(t, e.Reserve(bloom.Params{ErrorRate: 0.001, Capacity: 500}))
	_, err := e.Add([]byte("x"))
	require.NoError(t, err)
	p, err := rdb.DumpPayload(nil, rdb.WriterOptions{Version: rdb.Version7}, func(w *rdb.Writer) { saveValue(w, st.DB(0).Peek([]byte("f"))) })
	require.NoError(t, err)
	in, err := rdb.ParsePayload(p)
	require.NoError(t, err)
	require.Equal(t, rdb.Bloom, in.Kind)
	f, err := loadBloom(in, st, &in.Entry)
	require.NoError(t, err)
	require.NoError(t, in.Finish())
	require.Equal(t, e.Filter().Header(), f.Header())
	require.True(t, f.Has([]byte("x")))

	in.Filter.Options = 0 // hashes of 32 bits
	_, err = loadBloom(in, st, &in.Entry)
	require.ErrorIs(t, err, bloom.ErrData)
	in.Filter.Options, in.Filter.Size = 13, 2
	_, err = loadBloom(in, st, &in.Entry)
	require.ErrorIs(t, err, bloom.ErrData)
}
