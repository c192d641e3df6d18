package rdb

import (
	"encoding/binary"
)

// AuxProducers is the AUX field with what a stream remembers of its producers. In a file it stands behind the
// stream's key, in a payload behind the value; a stream that remembers much has several. It is ours (format,
// do not change): Redis passes over fields of a file that it does not know, and does not look behind the
// value of a payload.
//
//	1, duration (seconds), most messages of a producer, messages ever added, duplicates ever refused
//	{ producer, name, ms, seq, time (Unix milliseconds) }
//
// A number is a varint, unsigned but for the time; a producer and a name are a length and the bytes.
const AuxProducers = "lockserver-producers"

// producersForm is what an AuxProducers begins with.
const producersForm = 1

// Producers is what an AuxProducers says.
type Producers struct {
	DurationS, MaxSize uint64
	Added, Duplicates  uint64
	Messages           []Message
}

// Message is one that a producer has added to a stream.
type Message struct {
	Producer, Name []byte
	ID             ID
	AtMS           int64
}

// maxProducers is from which length on a field gets no further message.
const maxProducers = 64 << 10

// Producers writes fields that say p together, behind a stream. next gives one message after the other, and
// false behind the last.
func (w *Writer) Producers(p *Producers, next func() (Message, bool)) {
	head := []byte{producersForm}
	for _, n := range [...]uint64{p.DurationS, p.MaxSize, p.Added, p.Duplicates} {
		head = binary.AppendUvarint(head, n)
	}
	field, written := head, false
	for m, ok := next(); ok; m, ok = next() {
		for _, b := range [...][]byte{m.Producer, m.Name} {
			field = append(binary.AppendUvarint(field, uint64(len(b))), b...)
		}
		field = binary.AppendUvarint(binary.AppendUvarint(field, m.ID.MS), m.ID.Seq)
		field = binary.AppendVarint(field, m.AtMS)
		if written = len(field) >= maxProducers; written {
			w.Aux(AuxProducers, string(field))
			field = field[:len(head)]
		}
	}
	if len(field) > len(head) || !written {
		w.Aux(AuxProducers, string(field))
	}
}

// ParseProducers reads the value of an AuxProducers, to which the messages alias; false: it is malformed.
func ParseProducers(b []byte) (p Producers, ok bool) {
	in := varints{left: b, ok: len(b) > 0 && b[0] == producersForm}
	if !in.ok {
		return p, false
	}
	in.left = b[1:]
	p = Producers{DurationS: in.unsigned(), MaxSize: in.unsigned(), Added: in.unsigned(), Duplicates: in.unsigned()}
	for in.ok && len(in.left) > 0 {
		p.Messages = append(p.Messages, Message{Producer: in.bytes(), Name: in.bytes(),
			ID: ID{MS: in.unsigned(), Seq: in.unsigned()}, AtMS: in.signed()})
	}
	return p, in.ok
}

// varints reads numbers and strings one after the other. After the first that is malformed all are zero.
type varints struct {
	left []byte
	ok   bool
}

func (v *varints) take(n int) {
	if v.ok = v.ok && n > 0; !v.ok {
		n = len(v.left)
	}
	v.left = v.left[n:]
}

func (v *varints) unsigned() uint64 {
	x, n := binary.Uvarint(v.left)
	if v.take(n); !v.ok {
		return 0
	}
	return x
}

func (v *varints) signed() int64 {
	x, n := binary.Varint(v.left)
	if v.take(n); !v.ok {
		return 0
	}
	return x
}

func (v *varints) bytes() []byte {
	n := v.unsigned()
	if v.ok = v.ok && n <= uint64(len(v.left)); !v.ok {
		return nil
	}
	b := v.left[:n]
	v.left = v.left[n:]
	return b
}
