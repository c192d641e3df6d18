package dict

import (
	"hash/maphash"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
)

// edges returns lengths around those at which the length field grows, and around sizes of the allocator.
func edges() []int {
	return []int{0, 1, 6, 7, 8, 13, 14, 15, 16, 30, 31, 32, 126, 127, 128, 129, 254, 255, 256, 16382, 16383, 16384, 16385, 2097151, 2097152}
}

// TestKey: a key is read back as it was stored, for all lengths.
func TestKey(t *testing.T) {
	for _, length := range edges() {
		text := strings.Repeat("k", length)
		bare := newKey(text, false, nil)
		require.Equal(t, text, bare.String())
		require.Equal(t, text, string(bare.Bytes()))
		for _, tail := range edges() {
			if length > 300 && tail > 300 {
				continue
			}
			behind := strings.Repeat("t", tail)
			k := newKey(text, true, []byte(behind))
			require.True(t, text == k.String() && behind == string(k.Tail()), "%d and %d", length, tail)
			require.NotNil(t, k.Tail())
		}
	}
}

// TestTails: a tail moves with its entry, and a slice of a replaced tail does not change.
func TestTails(t *testing.T) {
	d := New[struct{}](&cow.Epoch{}, maphash.MakeSeed())
	put := func(key, tail string) { d.InsertTailed(d.HashString(key), []byte(key), []byte(tail), struct{}{}) }
	tail := func(key string) string { return string(d.Key(d.FindString(d.HashString(key), key)).Tail()) }
	for i := range 300 {
		put(strings.Repeat("k", i), strings.Repeat("t", 300-i))
	}
	for i := range 300 {
		require.Equal(t, strings.Repeat("t", 300-i), tail(strings.Repeat("k", i)))
	}
	d.ep.Cut()
	view := d.View()
	seen := d.Key(7).Tail()
	d.SetTail(7, []byte("other"))
	require.Equal(t, "other", tail("kkkkkkk"))
	require.Equal(t, strings.Repeat("t", 293), string(seen))
	key, _, _ := view.At(7)
	require.Equal(t, "kkkkkkk", key)
	d.Delete(d.HashString("k"), 1)
	require.Equal(t, "t", tail(strings.Repeat("k", 299)))
	n := 0
	d.EachKey(func(key *Key, _ *struct{}) bool {
		n++
		return len(key.String()) == 7 || len(key.Bytes())+len(key.Tail()) == 300
	})
	require.Equal(t, 299, n)
	require.Zero(t, d.ScanKeys(0, 1000, func(key *Key, _ *struct{}) { n += len(key.Tail()) }))
	d.ep.Release()
}
