package rdb

import (
	"encoding/binary"
	"math"
)

// Field is a field of a hash.
type Field struct {
	Name, Value []byte
	// ExpireAtMS is the field's own deadline in Unix milliseconds; 0 means no deadline.
	ExpireAtMS int64
}

// NextMember returns the next member of a Set or element of a List.
func (o *Object) NextMember() ([]byte, bool) {
	if o.Kind != Set && o.Kind != List {
		return nil, false
	}
	for o.d.err == nil {
		if e, ok := o.blob.next(); ok {
			return e.text(o.a[:]), true
		}
		if o.hasPlain {
			b := o.plain
			o.plain, o.hasPlain = nil, false
			return b, true
		}
		if o.left == 0 {
			break
		}
		switch o.d.typ {
		case typeListQuicklist, typeListQuicklist2:
			if o.nextListNode() != nil {
				return nil, false
			}
		default:
			o.left--
			b, err := o.d.string()
			return b, err == nil
		}
	}
	return nil, false
}

// nextListNode reads a node of a quicklist. The node may be empty.
func (o *Object) nextListNode() error {
	o.left--
	format := ziplistBlob
	if o.d.typ == typeListQuicklist2 {
		format = listpackBlob
		at := o.d.src.offset()
		container, err := o.d.length()
		if err != nil {
			return err
		}
		switch container {
		case packedNode:
		case plainNode:
			if o.plain, err = o.d.string(); err != nil {
				return err
			}
			if len(o.plain) == 0 {
				return o.d.corrupt(at, "quicklist: plain node without bytes")
			}
			o.hasPlain = true
			return nil
		default:
			return o.d.corrupt(at, "quicklist: unknown container %d", container)
		}
	}
	var err error
	o.blob, err = o.d.blob(format)
	return err
}

// NextField returns the next field of a Hash.
func (o *Object) NextField() (Field, bool) {
	if o.Kind != Hash || o.d.err != nil {
		return Field{}, false
	}
	var f Field
	if name, ok := o.blob.next(); ok {
		value, _ := o.blob.next()
		f.Name, f.Value = name.text(o.a[:]), value.text(o.b[:])
		if o.d.typ == typeHashListpackEx || o.d.typ == typeHashPackExPreGA {
			deadline, _ := o.blob.next()
			f.ExpireAtMS = deadline.num
		}
		return f, true
	}
	if o.left == 0 {
		return Field{}, false
	}
	o.left--
	var err error
	if o.d.typ == typeHashFields || o.d.typ == typeHashFieldsPreGA {
		if f.ExpireAtMS, err = o.fieldDeadline(); err != nil {
			return Field{}, false
		}
	}
	if f.Name, f.Value, err = o.d.pair(); err != nil {
		return Field{}, false
	}
	return f, true
}

// fieldDeadline reads the number before a field that may have a deadline. 0 means no deadline. Otherwise it
// is the deadline in milliseconds, or, in the format relative to the least deadline, the difference plus one.
func (o *Object) fieldDeadline() (int64, error) {
	at := o.d.src.offset()
	n, err := o.d.length()
	if err != nil || n == 0 {
		return 0, err
	}
	if n <= maxFieldDeadlineMS+1 && o.d.typ == typeHashFields {
		n += o.leastMS - 1
	}
	if n > maxFieldDeadlineMS {
		return 0, o.d.corrupt(at, "no field has the deadline %d", n)
	}
	return int64(n), nil
}

// NextScored returns the next member of a ZSet and its score, which is never NaN.
func (o *Object) NextScored() (member []byte, score float64, ok bool) {
	if o.Kind != ZSet || o.d.err != nil {
		return nil, 0, false
	}
	if m, ok := o.blob.next(); ok {
		s, _ := o.blob.next()
		score, _ = s.score() // checkScores has validated it
		return m.text(o.a[:]), score, true
	}
	if o.left == 0 {
		return nil, 0, false
	}
	o.left--
	member, err := o.d.string()
	if err != nil {
		return nil, 0, false
	}
	if !o.d.owned {
		o.d.first = append(o.d.first[:0], member...)
		member = o.d.first
	}
	if o.d.typ == typeZSet2 {
		score, err = o.d.binaryScore()
	} else {
		score, err = o.d.textScore()
	}
	return member, score, err == nil
}

// binaryScore reads a score of eight bytes.
func (d *decoder) binaryScore() (float64, error) {
	b, err := d.fixed(8)
	if err != nil {
		return 0, err
	}
	score := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if math.IsNaN(score) {
		return 0, d.corrupt(d.src.offset()-8, "score is not a number")
	}
	return score, nil
}

// textScore reads a score in the form before version 8: a length byte and the decimal text. Three values of
// the length byte mean the scores without digits.
func (d *decoder) textScore() (float64, error) {
	at := d.src.offset()
	n, err := d.byte()
	if err != nil {
		return 0, err
	}
	switch n {
	case 255:
		return math.Inf(-1), nil
	case 254:
		return math.Inf(1), nil
	case 253:
		return 0, d.corrupt(at, "score is not a number")
	}
	b, err := d.fixed(int(n))
	if err != nil {
		return 0, err
	}
	score, ok := parseScore(b)
	if !ok {
		return 0, d.corrupt(at, "%q is not a score", b)
	}
	return score, nil
}

// drain skips the rest of the object.
func (o *Object) drain() error {
	ok := true
	for ok {
		switch o.Kind {
		case List, Set:
			_, ok = o.NextMember()
		case Hash:
			_, ok = o.NextField()
		case ZSet:
			_, _, ok = o.NextScored()
		case Stream:
			_, ok = o.NextGroup()
		default:
			ok = false
		}
	}
	return o.d.err
}
