package topology

import "bytes"

// slots is the number of slots of a cluster.
const slots = 16384

// Slot returns the slot of a key: that of its hash tag, if it has one.
func Slot(key []byte) int {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if n := bytes.IndexByte(key[open+1:], '}'); n > 0 {
			key = key[open+1 : open+1+n]
		}
	}
	return int(crc16(key)) % slots
}

// crc16 computes CRC-16/XMODEM: the polynomial 0x1021, from 0.
func crc16(data []byte) (crc uint16) {
	for _, b := range data {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
