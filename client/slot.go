package client

import "strings"

// slots is the number of slots of a Redis Cluster, and polynomial is that of its CRC16 (XMODEM).
const (
	slots      = 16384
	polynomial = 0x1021
)

// slotOf returns the slot of a key, 0 to 16383. If the key has a hash tag ("{tag}"), only the tag counts. The
// rule is Redis', described at https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec.
func slotOf(key string) int {
	if _, after, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(after, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if top := crc & 0x8000; top != 0 {
				crc = crc<<1 ^ polynomial
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % slots)
}
