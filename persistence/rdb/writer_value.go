package rdb

import (
	"math"
)

// String writes a string.
func (w *Writer) String(value []byte) {
	w.begin(typeString, noPart, 1)
	w.text(value)
}

// HashListpack writes a hash that is a listpack of field, value, and so on. It is not checked.
func (w *Writer) HashListpack(lp []byte) {
	w.begin(typeHashListpack, noPart, 1)
	w.bytes(lp)
}

// Hash announces a hash of n fields, n > 0; Field writes each.
func (w *Writer) Hash(n int) {
	w.begin(typeHash, fieldPart, n)
	w.length(uint64(n))
}

// Field writes a field that Hash announced.
func (w *Writer) Field(name, value []byte) {
	if w.take(fieldPart) {
		w.text(name)
		w.text(value)
	}
}

// HashExpiring announces a hash of n fields, n > 0; some of them have deadlines. ExpiringField writes each.
// leastMS is the least of the deadlines, in Unix milliseconds, greater than 0. The writer's version must be
// VersionFieldExpiry.
func (w *Writer) HashExpiring(n int, leastMS int64) {
	if w.version < VersionFieldExpiry {
		w.misuse("version %d has no deadlines of fields", w.version)
	}
	if leastMS <= 0 || leastMS > maxFieldDeadlineMS {
		w.misuse("%d is no deadline of a field", leastMS)
	}
	w.begin(typeHashFields, expiringPart, n)
	w.leastMS = uint64(leastMS)
	w.uint64LE(w.leastMS)
	w.length(uint64(n))
}

// ExpiringField writes a field that HashExpiring announced; expireAtMS is its deadline, 0 means no deadline.
func (w *Writer) ExpiringField(name, value []byte, expireAtMS int64) {
	if !w.take(expiringPart) {
		return
	}
	relative := uint64(0)
	if expireAtMS != 0 {
		if expireAtMS < int64(w.leastMS) || expireAtMS > maxFieldDeadlineMS {
			w.misuse("deadline %d of a field is not within %d and 2^48", expireAtMS, w.leastMS)
			return
		}
		relative = uint64(expireAtMS) - w.leastMS + 1
	}
	w.length(relative)
	w.text(name)
	w.text(value)
}

// SetIntset writes a set that is an intset (see Object.Intset). It is not checked.
func (w *Writer) SetIntset(intset []byte) {
	w.begin(typeSetIntset, noPart, 1)
	w.bytes(intset)
}

// Set announces a set of n members, n > 0; Member writes each.
func (w *Writer) Set(n int) {
	w.begin(typeSet, memberPart, n)
	w.length(uint64(n))
}

// Member writes a member that Set announced.
func (w *Writer) Member(member []byte) {
	if w.take(memberPart) {
		w.text(member)
	}
}

// List announces a list of n nodes, n > 0; ListPacked or ListPlain write each.
func (w *Writer) List(nodes int) {
	w.begin(typeListQuicklist2, nodePart, nodes)
	w.length(uint64(nodes))
}

// ListPacked writes a node that List announced: a listpack of elements, not empty. It is not checked.
func (w *Writer) ListPacked(lp []byte) {
	if w.take(nodePart) {
		w.length(packedNode)
		w.bytes(lp)
	}
}

// ListPlain writes a node that List announced: a single element, not empty, too large for a listpack.
func (w *Writer) ListPlain(element []byte) {
	if len(element) == 0 {
		w.misuse("plain node without bytes")
	}
	if w.take(nodePart) {
		w.length(plainNode)
		w.bytes(element)
	}
}

// ZSetListpack writes a sorted set that is a listpack of member, score, and so on,
// in order. It is not checked.
func (w *Writer) ZSetListpack(lp []byte) {
	w.begin(typeZSetListpack, noPart, 1)
	w.bytes(lp)
}

// ZSet announces a sorted set of n members, n > 0; Scored writes each. Redis loads a set fastest if the
// member with the highest score comes first.
func (w *Writer) ZSet(n int) {
	w.begin(typeZSet2, scoredPart, n)
	w.length(uint64(n))
}

// Scored writes a member that ZSet announced. The score is not NaN.
func (w *Writer) Scored(member []byte, score float64) {
	if math.IsNaN(score) {
		w.misuse("score is not a number")
	}
	if w.take(scoredPart) {
		w.text(member)
		w.uint64LE(math.Float64bits(score))
	}
}
