package dict

import (
	"encoding/binary"
	"unsafe"
)

// Key is the key of an entry in one piece of memory: its length, its bytes, and a tail behind them if the
// entry has one, with its length. A slot has the address alone; of a string it would have the length as
// well. It is never written to.
type Key struct {
	// first is the length if it is less than 128, else the first byte of a varint that is it.
	first byte
}

// oneByte is up to which length a varint is one byte.
const oneByte = 1 << 7

// newKey returns a key, with a tail if there is to be one.
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

// KeyLen returns how many bytes PutKey takes for a key.
func KeyLen(key []byte) int { return headerLen(len(key)) + len(key) }

// PutKey makes a key of the first KeyLen bytes of dst, which must not be written afterwards. It is for
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

// String returns the key. It is a view.
func (k *Key) String() string {
	if k.first-1 < oneByte-1 { // neither empty nor long
		return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(k), 1)), int(k.first))
	}
	return k.string()
}

// string is String for every key.
func (k *Key) string() string {
	header, n := lengthAt(unsafe.Pointer(k))
	if n == 0 { // perhaps there is nothing behind the length that may be pointed to
		return ""
	}
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(k), header)), n)
}

// Bytes returns the key. It is a view, which must not be written to.
func (k *Key) Bytes() []byte {
	s := k.String()
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Tail returns what InsertTailed or SetTail has put behind the key. It is a view, which must not be written
// to, and only for entries that have a tail.
func (k *Key) Tail() []byte {
	header, n := lengthAt(unsafe.Pointer(k))
	tail := unsafe.Add(unsafe.Pointer(k), header+n)
	header, n = lengthAt(tail)
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Add(tail, header)), n)
}

// lengthAt reads a length, and how many bytes that takes itself.
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
