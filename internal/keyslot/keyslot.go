// Package keyslot computes the hash slots of keys, as a Redis Cluster does.
//
// It owns the hash and the rule about hash tags, and nothing else: which shard has a slot is package
// server/cluster's. Source: the Redis Cluster specification, "Key distribution model" and "Hash tags".
package keyslot

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Count is how many slots there are: 0 to Count-1.
const Count = 16384

// Of returns the slot of a key: that of its hash tag, or of the whole key. The hash of a key without a brace
// and of at most 16 bytes is the sum of one entry for each byte, which do not wait for each other.
func Of(key []byte) int {
	var x uint32
	late, early := (*[8]table)(tables[:]), key // entries for the bytes that come before those in x
	if n := len(key); n > 8 {
		if key[0] == '{' {
			end, seen := near(key[1:]), 8
			if end == 8 && n > 16 {
				end, seen = 8+near(key[9:]), 16
			}
			if 0 < end && end < seen {
				return Of(key[1 : 1+end])
			}
			return ofTagged(key, 0)
		}
		if n > 16 {
			return ofTagged(key, bytes.IndexByte(key, '{'))
		}
		b := (*[8]byte)(key[n-8:])
		x = late[7][b[0]] ^ late[6][b[1]] ^ late[5][b[2]] ^ late[4][b[3]] ^ late[3][b[4]] ^ late[2][b[5]] ^ late[1][b[6]] ^ late[0][b[7]]
		late, early = (*[8]table)(tables[8:]), key[:n-8]
	}
	switch b, t := early, late; len(b) {
	case 8:
		x ^= t[7][b[0]] ^ t[6][b[1]] ^ t[5][b[2]] ^ t[4][b[3]] ^ t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
	case 7:
		x ^= t[6][b[0]] ^ t[5][b[1]] ^ t[4][b[2]] ^ t[3][b[3]] ^ t[2][b[4]] ^ t[1][b[5]] ^ t[0][b[6]]
	case 6:
		x ^= t[5][b[0]] ^ t[4][b[1]] ^ t[3][b[2]] ^ t[2][b[3]] ^ t[1][b[4]] ^ t[0][b[5]]
	case 5:
		x ^= t[4][b[0]] ^ t[3][b[1]] ^ t[2][b[2]] ^ t[1][b[3]] ^ t[0][b[4]]
	case 4:
		x ^= t[3][b[0]] ^ t[2][b[1]] ^ t[1][b[2]] ^ t[0][b[3]]
	case 3:
		x ^= t[2][b[0]] ^ t[1][b[1]] ^ t[0][b[2]]
	case 2:
		x ^= t[1][b[0]] ^ t[0][b[1]]
	case 1:
		x ^= t[0][b[0]]
	}
	if x >= braced { // the highest bit is that of the first '{'
		return ofTagged(key, len(key)-bits.Len32(x/braced))
	}
	return int(x % Count)
}

// ofTagged is Of for a key of any length. open is the place of its first '{', or -1.
func ofTagged(key []byte, open int) int {
	if open >= 0 {
		if n := closing(key[open+1:]); n > 0 {
			return Of(key[open+1 : open+1+n])
		}
	}
	return int(crc16(key)) % Count
}

// closing returns the index of the first '}', or -1.
func closing(b []byte) int {
	if len(b) >= 8 {
		if n := near(b); n < 8 {
			return n
		}
	}
	return bytes.IndexByte(b, '}')
}

// near returns the index of the first '}' among the first 8 bytes; 8: none of them is one.
func near(b []byte) int {
	// A byte of x is 0 where b has a '}', and the lowest bit of the result is in the first such byte.
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	x := binary.LittleEndian.Uint64(b) ^ '}'*ones
	return bits.TrailingZeros64((x-ones)&^x&tops) / 8
}

// Tag returns the hash tag of a key: what stands between the first '{' and the next '}' behind it. ok is
// false for a key without a hash tag, and for an empty tag, which does not count.
func Tag(key []byte) (tag []byte, ok bool) {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return nil, false
	}
	n := closing(key[open+1:])
	if n <= 0 {
		return nil, false
	}
	return key[open+1 : open+1+n], true
}

// OfPattern returns the slot that all keys share which match a glob pattern. ok is false if they may be in
// several slots: the hash tag has a wildcard or a '\', or follows one of those.
func OfPattern(pattern []byte) (n int, ok bool) {
	fixed := pattern
	if tag, tagged := Tag(pattern); tagged {
		fixed = pattern[:bytes.IndexByte(pattern, '{')+1+len(tag)]
	}
	if bytes.ContainsAny(fixed, `*?[\`) {
		return 0, false
	}
	return Of(pattern), true
}

// crc16 is CRC-16/XMODEM: the polynomial 0x1021, from 0. It takes eight bytes at a time, and then the rest
// one by one.
func crc16(data []byte) (crc uint16) {
	t := tables
	for len(data) >= 8 {
		crc = uint16(t[7][byte(crc>>8)^data[0]] ^ t[6][byte(crc)^data[1]] ^ t[5][data[2]] ^ t[4][data[3]] ^
			t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]])
		data = data[8:]
	}
	for _, b := range data {
		crc = crc<<8 ^ uint16(t[0][byte(crc>>8)^b])
	}
	return crc
}

// table has an entry for each byte.
type table [256]uint32

// braced and the bits above it say which bytes of the key are '{'. Each place in the key has a bit of its
// own, so two such bytes do not hide each other.
const braced = 1 << 16

// tables has in its low 16 bits the CRC of each byte that 0 to 15 zeros follow.
var tables = func() *[16]table {
	var t [16]table
	for i := range t[0] {
		crc := uint16(i) << 8
		for zeros := range t {
			for range 8 {
				if crc&0x8000 != 0 {
					crc = crc<<1 ^ 0x1021
				} else {
					crc <<= 1
				}
			}
			t[zeros][i] = uint32(crc)
			if i == '{' {
				t[zeros][i] |= braced << zeros
			}
		}
	}
	return &t
}()
