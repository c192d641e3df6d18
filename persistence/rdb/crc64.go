package rdb

import (
	"encoding/binary"
	"sync"
)

// jonesReflected is the Jones polynomial 0xad93d23594c935a9 with its bits reversed. Format, do not change.
const jonesReflected = 0x95ac9329ac4bc9b5

// crcLanes is the number of bytes in a step of updateCRC. 16 measured 1.2 times as fast as 8. Its tables fill
// a first-level data cache, which a larger step would overflow.
const crcLanes = 16

type crcTable [crcLanes][256]uint64

// crcTables computes the lookup tables at the first use and keeps them. They are too large to write down as
// constants.
var crcTables = sync.OnceValue(func() *crcTable {
	t := new(crcTable)
	for i := range 256 {
		c := uint64(i)
		for range 8 {
			if c&1 == 1 {
				c = c>>1 ^ jonesReflected
			} else {
				c >>= 1
			}
		}
		t[0][i] = c
	}
	for i := range 256 {
		for lane := 1; lane < crcLanes; lane++ {
			c := t[lane-1][i]
			t[lane][i] = t[0][byte(c)] ^ c>>8
		}
	}
	return t
})

// updateCRC continues a CRC-64/Jones (reflected, start value 0, no final inversion; the check value of
// "123456789" is 0xe9c6d914c4b8d9ca) with p. The standard library's hash/crc64 inverts before and after and,
// for a polynomial that it does not know, rebuilds its fast tables at every call.
func updateCRC(crc uint64, p []byte) uint64 {
	t := crcTables()
	for len(p) >= crcLanes {
		lo := crc ^ binary.LittleEndian.Uint64(p)
		hi := binary.LittleEndian.Uint64(p[8:])
		crc = t[15][byte(lo)] ^ t[14][byte(lo>>8)] ^ t[13][byte(lo>>16)] ^ t[12][byte(lo>>24)] ^
			t[11][byte(lo>>32)] ^ t[10][byte(lo>>40)] ^ t[9][byte(lo>>48)] ^ t[8][lo>>56] ^
			t[7][byte(hi)] ^ t[6][byte(hi>>8)] ^ t[5][byte(hi>>16)] ^ t[4][byte(hi>>24)] ^
			t[3][byte(hi>>32)] ^ t[2][byte(hi>>40)] ^ t[1][byte(hi>>48)] ^ t[0][hi>>56]
		p = p[crcLanes:]
	}
	for _, b := range p {
		crc = t[0][byte(crc)^b] ^ crc>>8
	}
	return crc
}
