package rdb

import (
	"bytes"
	"encoding/binary"
)

// AuxProducers is the AUX field with the producers that a stream remembers. In a file it stands after the
// stream's key, in a payload after the value; a stream with many messages has several. It is our own (format,
// do not change): Redis skips unknown fields of a file, and does not look behind the value of a payload.
//
//	1, duration (seconds), most messages of a producer, messages ever added, duplicates ever refused
//	{ producer, name, ms, seq, time (Unix milliseconds) }
//
// Numbers are varints, unsigned except the time; a producer and a name are a length and the bytes.
const AuxProducers = "lockserver-producers"

// producersForm is the first number of an AuxProducers.
const producersForm = 1

// Producers is the content of an AuxProducers.
type Producers struct {
	DurationS, MaxSize uint64
	Added, Duplicates  uint64
	Messages           []Message
}

// Message is a message that a producer has added to a stream.
type Message struct {
	Producer, Name []byte
	ID             ID
	AtMS           int64
}

// maxProducers is the length from which on a field gets no further message.
const maxProducers = 64 << 10

// Producers writes fields after a stream that together hold p. next returns one message after the other, and
// false after the last.
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

// ParseProducers parses the value of an AuxProducers. The messages alias it. ok is false if it is malformed.
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

// ordinaryLimit is the default duration of streams in seconds, and their default number of messages of a
// producer, in Redis and here.
const ordinaryLimit = 100

// readProducers reads the part that Redis 8.6 writes after the groups of a stream, once, and keeps it in the
// form of AuxProducers:
//
//	duration (seconds), most messages of a producer, number of producers
//	{ producer, number of messages, { name, ID } }
//	messages ever added, duplicates ever refused
//
// The time of a message is the time in its ID, which the server gave.
func (o *Object) readProducers() {
	d := o.d
	if d.typ != typeStream4 || o.stream.ended || d.err != nil {
		return
	}
	o.stream.ended = true
	var duration, most, producers, added, duplicates uint64
	if !d.lengths(&duration, &most, &producers) {
		return
	}
	var messages []byte
	for range producers {
		producer, err := d.string()
		if err != nil {
			return
		}
		producer = bytes.Clone(producer)
		var n uint64
		if !d.lengths(&n) {
			return
		}
		for range n {
			name, err := d.string()
			if err != nil {
				return
			}
			for _, b := range [...][]byte{producer, name} {
				messages = append(binary.AppendUvarint(messages, uint64(len(b))), b...)
			}
			var id ID
			if !d.lengths(&id.MS, &id.Seq) {
				return
			}
			messages = binary.AppendUvarint(binary.AppendUvarint(messages, id.MS), id.Seq)
			messages = binary.AppendVarint(messages, int64(id.MS))
		}
	}
	if !d.lengths(&added, &duplicates) {
		return
	}
	if duration == ordinaryLimit && most == ordinaryLimit && producers+added+duplicates == 0 {
		return // the stream has never had a producer
	}
	field := []byte{producersForm}
	for _, n := range [...]uint64{duration, most, added, duplicates} {
		field = binary.AppendUvarint(field, n)
	}
	o.stream.producers = append(field, messages...)
}

// takeProducers returns the result of readProducers, once; nil if there is none.
func (o *Object) takeProducers() []byte {
	field := o.stream.producers
	o.stream.producers = nil
	return field
}

// lengths reads several lengths. It returns false after an error.
func (d *decoder) lengths(to ...*uint64) bool {
	for _, n := range to {
		var err error
		if *n, err = d.length(); err != nil {
			return false
		}
	}
	return true
}

// varints reads several numbers and strings. After a malformed value all further values are zero.
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
