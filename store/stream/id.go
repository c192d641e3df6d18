package stream

import (
	"cmp"
	"math"
	"strconv"
)

// ID is an entry's identity and place: milliseconds, then a sequence number.
type ID struct{ MS, Seq uint64 }

// MaxID returns the highest possible ID.
func MaxID() ID { return ID{math.MaxUint64, math.MaxUint64} }

// Compare returns -1, 0 or 1 as id is below, equal to or above b.
func (id ID) Compare(b ID) int {
	if id.MS != b.MS {
		return cmp.Compare(id.MS, b.MS)
	}
	return cmp.Compare(id.Seq, b.Seq)
}

// Less reports whether id is below b.
func (id ID) Less(b ID) bool {
	return id.MS < b.MS || id.MS == b.MS && id.Seq < b.Seq
}

// IsZero reports whether id is 0-0, which no entry has.
func (id ID) IsZero() bool { return id == ID{} }

// IsMax reports whether id is the highest ID, after which nothing can be added.
func (id ID) IsMax() bool { return id == MaxID() }

// Next returns the ID that follows; 0-0 follows the highest.
func (id ID) Next() ID {
	id.Seq++
	if id.Seq == 0 {
		id.MS++
	}
	return id
}

// Prev returns the ID before; the highest is before 0-0.
func (id ID) Prev() ID {
	if id.Seq == 0 {
		id.MS--
	}
	id.Seq--
	return id
}

// AppendTo appends the usual spelling, "ms-seq", to dst and returns the result.
func (id ID) AppendTo(dst []byte) []byte {
	dst = strconv.AppendUint(dst, id.MS, 10)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, id.Seq, 10)
}

// String returns the usual spelling, "ms-seq".
func (id ID) String() string { return string(id.AppendTo(make([]byte, 0, 41))) }
