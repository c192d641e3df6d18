package keyslot

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// bitwise is the CRC by its definition: a division of polynomials, bit by bit.
func bitwise(data []byte) (crc uint16) {
	for _, b := range data {
		for bit := 7; bit >= 0; bit-- {
			top := crc>>15 ^ uint16(b>>bit)&1
			crc <<= 1
			if top == 1 {
				crc ^= 0x1021
			}
		}
	}
	return crc
}

// TestCRC: keys of each length have the CRC of the definition, wherever the pieces of the computation end.
func TestCRC(t *testing.T) {
	require.Equal(t, uint16(0x31c3), crc16([]byte("123456789")), "the check value of CRC-16/XMODEM")
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		for range 20 {
			key := make([]byte, n)
			for i := range key {
				key[i] = byte(random.Uint32())
			}
			require.Equal(t, bitwise(key), crc16(key), "%x", key)
		}
		require.Equal(t, bitwise(bytes.Repeat([]byte{0xff}, n)), crc16(bytes.Repeat([]byte{0xff}, n)), n)
	}
}

// TestOf has slots that redis-cli tells of keys with and without hash tags.
func TestOf(t *testing.T) {
	for key, want := range map[string]int{"": 0, "foo": 12182, "{foo}bar": 12182, "a{foo}{bar}": 12182, "123456789": 12739} {
		require.Equal(t, want, Of([]byte(key)), key)
	}
	require.Equal(t, int(bitwise([]byte("{}foo")))%Count, Of([]byte("{}foo")), "an empty tag does not count")
	require.Equal(t, int(bitwise([]byte("{foo")))%Count, Of([]byte("{foo")), "a tag that does not end")
}

func BenchmarkOf(b *testing.B) {
	for _, key := range []string{"k", "lock:1234", "lock:order:12345", "{user:1000}.following.list.of.all"} {
		b.Run(key, func(b *testing.B) {
			of := []byte(key)
			for b.Loop() {
				Of(of)
			}
		})
	}
}
