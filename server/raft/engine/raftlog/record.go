package raftlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	hraft "github.com/hashicorp/raft"
)

// The format, do not change. The package's comment has it.
const (
	magic       = 0x31676f6c74666172 // "raftlog1"
	headBytes   = 48
	recordBytes = 56
	align       = 8
)

var checksums = crc32.MakeTable(crc32.Castagnoli)

// seedOf begins the checksums of a segment's records.
func seedOf(id, number uint64) uint32 {
	b := binary.LittleEndian.AppendUint64(nil, id)
	return crc32.Checksum(binary.LittleEndian.AppendUint64(b, number), checksums)
}

// encodeHead returns the head of a segment.
func encodeHead(id, number, base uint64, prev uint32) []byte {
	b := make([]byte, 0, headBytes)
	for _, n := range []uint64{magic, id, number, base, 0} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, prev)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, checksums))
}

// head is what begins a segment.
type head struct {
	id, number, base uint64
	prev, sum        uint32
}

// decodeHead reads the head of a segment; false: it is none.
func decodeHead(b []byte) (h head, ok bool) {
	if len(b) < headBytes || binary.LittleEndian.Uint64(b) != magic || crc32.Checksum(b[:44], checksums) != binary.LittleEndian.Uint32(b[44:]) {
		return h, false
	}
	return head{id: binary.LittleEndian.Uint64(b[8:]), number: binary.LittleEndian.Uint64(b[16:]), base: binary.LittleEndian.Uint64(b[24:]),
		prev: binary.LittleEndian.Uint32(b[40:]), sum: binary.LittleEndian.Uint32(b[44:])}, true
}

// record is the head of an entry.
type record struct {
	sum, body, at, data, synced, prev, kind uint32
	index, term                             uint64
	nanos                                   int64
}

// bytes is how many bytes the record has.
func (r *record) bytes() int64 { return recordBytes + int64(padded(r.data)) }

func padded(n uint32) uint64 { return (uint64(n) + align - 1) / align * align }

// appendRecord appends the record of an entry. It returns its checksum.
func appendRecord(b []byte, l *hraft.Log, seed, at, synced, prev uint32) ([]byte, uint32) {
	from := len(b)
	b = append(b, make([]byte, recordBytes)...)
	b = append(b, l.Data...)
	b = append(b, make([]byte, padded(uint32(len(l.Data)))-uint64(len(l.Data)))...)
	r := b[from:]
	nanos := int64(0)
	if !l.AppendedAt.IsZero() {
		nanos = l.AppendedAt.UnixNano()
	}
	for i, n := range []uint32{crc32.Checksum(r[recordBytes:], checksums), at, uint32(len(l.Data)), synced, prev, uint32(l.Type), 0} {
		binary.LittleEndian.PutUint32(r[4+4*i:], n)
	}
	for i, n := range []uint64{l.Index, l.Term, uint64(nanos)} {
		binary.LittleEndian.PutUint64(r[32+8*i:], n)
	}
	sum := crc32.Update(seed, checksums, r[4:recordBytes])
	binary.LittleEndian.PutUint32(r, sum)
	return b, sum
}

// decode reads the head of a record at an offset; false: there is none that is whole.
func (r *record) decode(b []byte, seed uint32, at int64) bool {
	le := binary.LittleEndian
	if len(b) < recordBytes || int64(le.Uint32(b[8:])) != at || crc32.Update(seed, checksums, b[4:recordBytes]) != le.Uint32(b) {
		return false
	}
	*r = record{sum: le.Uint32(b), body: le.Uint32(b[4:]), at: le.Uint32(b[8:]), data: le.Uint32(b[12:]), synced: le.Uint32(b[16:]), prev: le.Uint32(b[20:]),
		kind: le.Uint32(b[24:]), index: le.Uint64(b[32:]), term: le.Uint64(b[40:]), nanos: int64(le.Uint64(b[48:]))}
	return true
}

// entry makes the entry of a record with the data b.
func (r *record) entry(b []byte, to *hraft.Log) {
	*to = hraft.Log{Index: r.index, Term: r.term, Type: hraft.LogType(r.kind), Data: b}
	if r.nanos != 0 {
		to.AppendedAt = time.Unix(0, r.nanos)
	}
}

// storable returns why an entry cannot be kept.
func storable(l *hraft.Log, index uint64) error {
	switch {
	case l.Index != index:
		return fmt.Errorf("the entry %d is to be stored at the place of the entry %d", l.Index, index)
	case len(l.Extensions) > 0:
		return fmt.Errorf("the entry %d has extensions, which are not kept", l.Index)
	case uint64(len(l.Data)) > mostBytes:
		return fmt.Errorf("the entry %d has %d bytes: that is too many", l.Index, len(l.Data))
	}
	return nil
}
