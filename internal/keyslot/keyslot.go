// Package keyslot computes the hash slots of keys, as a Redis Cluster does.
//
// It owns the hash and the rule about hash tags, and nothing else: which shard has a slot is package
// server/cluster's. Source: the Redis Cluster specification, "Key distribution model" and "Hash tags".
package keyslot

import "bytes"

// Count is how many slots there are: 0 to Count-1.
const Count = 16384

// Of returns the slot of a key: that of its hash tag, or of the whole key.
func Of(key []byte) int { return int(crc16(tagOf(key))) % Count }

// Tag returns the hash tag of a key: what stands between the first '{' and the next '}' behind it. ok is
// false for a key without a hash tag, and for an empty tag, which does not count.
func Tag(key []byte) (tag []byte, ok bool) {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return nil, false
	}
	n := bytes.IndexByte(key[open+1:], '}')
	if n <= 0 {
		return nil, false
	}
	return key[open+1 : open+1+n], true
}

func tagOf(key []byte) []byte {
	if tag, ok := Tag(key); ok {
		return tag
	}
	return key
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
// one by one: the parts of eight bytes do not wait for each other.
func crc16(data []byte) (crc uint16) {
	for len(data) >= 8 {
		crc = tables[7][byte(crc>>8)^data[0]] ^ tables[6][byte(crc)^data[1]] ^ tables[5][data[2]] ^ tables[4][data[3]] ^
			tables[3][data[4]] ^ tables[2][data[5]] ^ tables[1][data[6]] ^ tables[0][data[7]]
		data = data[8:]
	}
	for _, b := range data {
		crc = crc<<8 ^ tables[0][byte(crc>>8)^b]
	}
	return crc
}

// tables has the CRC of each byte, and of each byte that 1 to 7 zeros follow.
var tables = func() (t [8][256]uint16) {
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
			t[zeros][i] = crc
		}
	}
	return t
}()
