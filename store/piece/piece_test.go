package piece

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPiece: the parts of the word are independent, whatever their values are.
func TestPiece(t *testing.T) {
	for _, stamp := range []uint64{0, 1, 1<<31 - 1} {
		for _, capacity := range []int{0, 1, 7, 8, 9, 23, 24, 100, 5000, 100_000} {
			for form := range Form(3) {
				h := New(stamp, form, capacity, nil)
				require.True(t, h.Packed())
				require.False(t, h.Left())
				require.Equal(t, stamp, h.Stamp())
				require.Equal(t, form, h.Form())
				require.GreaterOrEqual(t, len(h.Content()), max(capacity, 1))
				require.LessOrEqual(t, len(h.Content()), 32+capacity+capacity/4)
				require.Empty(t, bytes.Trim(h.Content(), "\x00"))
				for i := range h.Content() {
					h.Content()[i] = 0xff
				}
				h.SetForm(2 - form)
				require.Equal(t, 2-form, h.Form())
				require.Equal(t, stamp, h.Stamp())
				h.Leave()
				require.True(t, h.Left())
				require.Equal(t, stamp, h.Stamp())
			}
		}
		large := Large(stamp)
		require.False(t, large.Packed())
		require.False(t, large.Left())
		require.Equal(t, stamp, large.Stamp())
	}
}

// TestSizes: a piece takes its bytes, a word, and the rounding of the allocator.
func TestSizes(t *testing.T) {
	for need, capacity := range map[int]int{1: 8, 8: 8, 9: 24 - 8, 40: 40, 41: 56, 62: 72, 72: 72} {
		require.Equal(t, capacity, len(New(0, 0, need, nil).Content()), need)
	}
	require.Equal(t, Tight, CapacityFor(Tight))
	require.Equal(t, 125, CapacityFor(100))
}

// TestNames: a piece has its name after its capacity; without a name the capacity is the whole piece.
func TestNames(t *testing.T) {
	for _, length := range []int{0, 1, 16, 17, 126, 127, 128, 1000} {
		name := bytes.Repeat([]byte{'n'}, length)
		for _, capacity := range []int{0, 1, 18, 62, 63, 64, 1000, mostNamed, mostNamed + 1} {
			h := New(5, 1, capacity, name)
			require.True(t, h.Packed())
			require.Equal(t, Form(1), h.Form())
			require.Equal(t, uint64(5), h.Stamp())
			require.GreaterOrEqual(t, len(h.Content()), max(capacity, 1))
			require.Empty(t, bytes.Trim(h.Content(), "\x00"))
			for i := range h.Content() {
				h.Content()[i] = 0xff
			}
			if capacity > mostNamed {
				require.Nil(t, h.Name())
				continue
			}
			kept := h.Name()
			require.Equal(t, string(name), kept.String())
			h.SetForm(2)
			require.Same(t, kept, h.Name())
			h.Leave()
			require.True(t, h.Left())
			require.Equal(t, string(name), kept.String(), "the keyspace may still have it from here")
		}
	}
	for _, c := range []struct{ capacity, bytes int }{{18, 48}, {62, 96}, {46, 80}} {
		h := New(0, 0, c.capacity, make([]byte, 17))
		require.Equal(t, c.bytes-HeadBytes-18, len(h.Content()))
	}
	require.Nil(t, New(0, 0, 8, nil).Name())
	large := Large(7)
	require.Nil(t, large.Name())
}
