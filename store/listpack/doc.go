// Package listpack holds short sequences of byte strings and integers in one flat byte slice. The format is
// the format that Redis 7 uses in memory, in RDB files and in DUMP payloads.
//
// It owns that format: encoding, walking, editing and the check of bytes that come from outside. It must not
// know the meaning of the elements (fields of a hash, entries of a stream), or where a list is stored or
// shared. Copy-on-write is the caller's task: it calls [List.Clone] first.
//
// # Format, do not change
//
//	total bytes  uint32, little endian, everything from here to the end byte
//	count        uint16, little endian; 65535 says "not known, walk and count"
//	elements     see below, repeated
//	end          0xFF
//
// An element is a head (with the value or a length in it), the data, and the "back length". That is the size
// of head and data, so that the list can be walked from its end. All integers are little endian two's
// complement:
//
//	0xxxxxxx             integer 0..127
//	10xxxxxx             string of 0..63 bytes
//	110xxxxx b           integer of 13 bits, -4096..4095, high bits first
//	1110xxxx b           string of up to 4095 bytes, high bits first
//	0xF0 uint32          string of any length
//	0xF1 .. 0xF4         integer of 16, 24, 32, 64 bits follows
//
// A string that is the canonical decimal text of an int64 is always stored as an integer, in the smallest
// possible form. So equal values have equal bytes, and this package writes the same bytes as Redis for the
// same operations. One exception: Redis repairs an "unknown" count when it walks the list. Here reading never
// writes, so the mark stays.
//
// The back length is written with seven bits in each byte, most significant first. Every byte but the first
// has its top bit set, so that a reader from the end knows where to stop. Its own length follows from the
// size (see backlenSize).
//
// # To add an element kind
//
// No kind can be added: the format is that of Redis. A new operation is a function over positions that uses
// sizeAt to walk and splice to make space.
package listpack
