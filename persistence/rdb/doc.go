// Package rdb reads and writes Redis' snapshot format and the payloads of DUMP and RESTORE.
//
// It is a pure codec over io.Reader and io.Writer. It owns the byte format: lengths, strings, LZF, the
// checksum, the opcodes and every encoding of a value. It must not know files, clocks, configuration or the
// store; the caller moves data between an Object and its own containers. The only shared knowledge is
// store/listpack, the byte format that compact containers have in memory and on disk.
//
// # Format
//
//	"REDIS" version(4 digits)
//	{ AUX name value | FUNCTION2 code | MODULE_AUX ... }
//	{ SELECTDB n  RESIZEDB keys expires  { [EXPIRETIME_MS t] [IDLE s] [FREQ n] type key value } }
//	EOF  checksum(8 bytes, little endian, CRC-64/Jones of all bytes before it; 0: not computed)
//
// A length takes 1, 2, 5 or 9 bytes, as given by the top bits of the first. A string is a length and that
// many bytes, or a small integer, or an LZF block. Reader takes versions 1 to 13 (Redis up to 8.6) with all
// their encodings. Writer writes version 10 (Redis 7.0), or 12 when fields of hashes have deadlines.
//
// # Trust
//
// Nothing in a file is trusted. Memory is allocated as bytes arrive and never from a length alone. Compact
// blobs are checked completely before the first element is returned. Every error is an *Error with the byte
// offset and the reason, and is ErrTruncated, ErrCorrupt or ErrUnsupported. Entries are returned before the
// checksum at the end is read, so a caller keeps them apart until Next has returned io.EOF.
//
// # Adding an encoding
//
// Add the number and name of the type to format.go and its beginning to object.go, and let one of the
// iterators there read it. A new blob format is another case of blob (blob.go) with its validator beside it
// (see ziplist.go).
package rdb
