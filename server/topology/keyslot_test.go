package topology

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
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

// TestSlotIsTheCRC: keys of each length have the slot of the CRC by its definition, wherever the pieces of
// the computation end.
func TestSlotIsTheCRC(t *testing.T) {
	require.Equal(t, uint16(0x31c3), bitwise([]byte("123456789")), "the check value of CRC-16/XMODEM")
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		for range 20 {
			key := make([]byte, n)
			for i := range key {
				key[i] = byte(random.Uint32()) &^ 8 // '{' and '}' have that bit
			}
			require.Equal(t, int(bitwise(key))%keyslot.Count, keyslot.Of(key), "%x", key)
		}
		require.Equal(t, int(bitwise(bytes.Repeat([]byte{0xff}, n)))%keyslot.Count, keyslot.Of(bytes.Repeat([]byte{0xff}, n)), n)
	}
}

// TestSlotOfTags has slots that redis-cli tells of keys with and without hash tags.
func TestSlotOfTags(t *testing.T) {
	for key, want := range map[string]int{"": 0, "foo": 12182, "{foo}bar": 12182, "a{foo}{bar}": 12182, "123456789": 12739} {
		require.Equal(t, want, keyslot.Of([]byte(key)), key)
	}
	require.Equal(t, int(bitwise([]byte("{}foo")))%keyslot.Count, keyslot.Of([]byte("{}foo")), "an empty tag does not count")
	require.Equal(t, int(bitwise([]byte("{foo")))%keyslot.Count, keyslot.Of([]byte("{foo")), "a tag that does not end")
}

// TestSlotOfBraces: keys of bytes among which braces are frequent have the slot that a plain reading of the
// rule about hash tags gives them.
func TestSlotOfBraces(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		key := make([]byte, random.IntN(24))
		for i := range key {
			key[i] = "{}{}|~az\x00\xff\xfb\xfd"[random.IntN(12)]
			if random.IntN(3) > 0 {
				key[i] = byte(random.Uint32())
			}
		}
		hashed := key
		for open := range key {
			if key[open] == '{' {
				n := 0
				for open+1+n < len(key) && key[open+1+n] != '}' {
					n++
				}
				if open+1+n < len(key) && n > 0 {
					hashed = key[open+1 : open+1+n]
				}
				break
			}
		}
		require.Equal(t, int(bitwise(hashed))%keyslot.Count, keyslot.Of(key), "%q", key)
	}
}

func BenchmarkSlot(b *testing.B) {
	for _, key := range []string{"k", "lock:1234", "lock:order:12345", "{user:1000}.following.list.of.all"} {
		b.Run(key, func(b *testing.B) {
			of := []byte(key)
			for b.Loop() {
				keyslot.Of(of)
			}
		})
	}
}

// ServesBeside has the answers of Serves, whatever the key before was, also after the slots have changed.
func TestServesBeside(t *testing.T) {
	g, id := New(GroupOptions{Strict: true}), NodeID("a")
	var n Neighbor
	random := rand.New(rand.NewPCG(3, 4))
	parts := []string{"{", "}", "a", "{b}", "lock:", "{order:7}", strings.Repeat("x", mostRemembered)}
	seen := map[bool]int{}
	for step := range 20_000 {
		if step%500 == 0 {
			at := random.IntN(keyslot.Count / 2)
			slots := []cluster.Range{{First: at, Last: at + keyslot.Count/2}}
			require.NoError(t, g.Update(View{Members: []Member{{ID: id, Up: true, Slots: slots}}, Leader: id}))
		}
		var key []byte
		for range random.IntN(6) {
			key = append(key, parts[random.IntN(len(parts))]...)
		}
		want := g.Serves(key)
		require.Equal(t, want, g.ServesBeside(&n, key), "step %d: %s after %s", step, key, n.begun)
		seen[want]++
	}
	require.Len(t, seen, 2)
}
