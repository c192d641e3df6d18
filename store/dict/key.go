package dict

import (
	"encoding/binary"
	"unsafe"
)

// Key is the key of an entry in one piece of memory: its length and its bytes, followed by a tail with its
// length if the entry has a tail. A slot holds only the address; a string would also take the length. A Key
// is never written to.
type Key struct {
	// first is the length if it is less than 128, else the first byte of the length as a varint.
	first byte
}

// oneByte is the first number that a varint of one byte cannot hold.
const oneByte = 1 << 7

// newKey returns a key, with a tail if tailed is set.
func newKey(key string, tailed bool, tail []byte) *Key {
	size := headerLen(len(key)) + len(key)
	if tailed {
		size += headerLen(len(tail)) + len(tail)
	}
	b := appendKey(make([]byte, 0, size), key)
	if tailed {
		b = append(binary.AppendUvarint(b, uint64(len(tail))), tail...)
	}
	return (*Key)(unsafe.Pointer(unsafe.SliceData(b)))
}

// appendKey appends a key's length and its bytes.
func appendKey(b []byte, key string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(key))), key...)
}

// NewKey returns a key in memory of its own, for Rekey.
func NewKey(key []byte) *Key {
	return newKey(unsafe.String(unsafe.SliceData(key), len(key)), false, nil)
}

// KeyLen returns the number of bytes that PutKey takes for a key.
func KeyLen(key []byte) int { return headerLen(len(key)) + len(key) }

// PutKey makes a key from the first KeyLen bytes of dst, which must not be written afterwards. It is for
// callers that store a key and its value in one piece of memory.
func PutKey(dst, key []byte) *Key {
	appendKey(dst[:0:KeyLen(key)], unsafe.String(unsafe.SliceData(key), len(key)))
	return (*Key)(unsafe.Pointer(unsafe.SliceData(dst)))
}

// headerLen returns how many bytes a length takes.
func headerLen(length int) int {
	n := 1
	for ; length >= oneByte; length >>= 7 {
		n++
	}
	return n
}

// String returns the key without a copy.
func (k *Key) String() string {
	if k.first-1 < oneByte-1 { // neither empty nor long
		return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(k), 1)), int(k.first))
	}
	return k.string()
}

// string does what String does, for every key.
func (k *Key) string() string {
	header, n := lengthAt(unsafe.Pointer(k))
	if n == 0 { // there may be no byte after the length that a pointer may point to
		return ""
	}
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(k), header)), n)
}

// Bytes returns the key without a copy. The caller must not write to it.
func (k *Key) Bytes() []byte {
	s := k.String()
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Tail returns the bytes after the key, set by InsertTailed or SetTail. The caller must not write to them. It
// may only be called for entries with a tail.
func (k *Key) Tail() []byte {
	header, n := lengthAt(unsafe.Pointer(k))
	tail := unsafe.Add(unsafe.Pointer(k), header+n)
	header, n = lengthAt(tail)
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Add(tail, header)), n)
}

// lengthAt reads a length. header is the number of bytes that the length itself takes.
func lengthAt(at unsafe.Pointer) (header, n int) {
	for shift := 0; ; shift += 7 {
		b := *(*byte)(unsafe.Add(at, header))
		header++
		n |= int(b&(oneByte-1)) << shift
		if b < oneByte {
			return header, n
		}
	}
}
