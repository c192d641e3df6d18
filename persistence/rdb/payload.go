package rdb

import (
	"encoding/binary"
	"fmt"
)

// footerBytes is the length of the footer of a payload: the version (16 bits) and the checksum of all bytes
// before it (64 bits), little endian. Format, do not change.
const footerBytes = 10

// Payload is the value in a DUMP payload: an entry without key and deadline.
type Payload struct{ Entry }

// ParsePayload begins to read a payload of DUMP. The error is ErrPayloadFooter, or an *Error when the value
// is malformed. p must not change while the payload is in use; Finish reports whether it was well-formed to
// its end.
func ParsePayload(p []byte) (*Payload, error) {
	body, err := payloadBody(p)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	d.src.buf, d.src.end = body, len(body)
	typ, err := d.byte()
	if err != nil {
		return nil, err
	}
	d.typ = typ
	payload := &Payload{Entry{IdleSec: -1, Freq: -1}}
	if typ == typeModule2 {
		if _, ok, err := payload.beginModule(d); ok || err != nil {
			return payload, err
		}
	}
	if typeKind(typ) == 0 {
		if typ == typeModule2 || typ == typeModulePreGA {
			return nil, d.fail(0, ErrUnsupported, "value of a module")
		}
		return nil, d.corrupt(0, "unknown type %d", typ)
	}
	notEmpty, err := payload.begin(d)
	if err != nil {
		return nil, err
	}
	if !notEmpty {
		return nil, d.corrupt(0, "%s without elements", typeName(typ))
	}
	return payload, nil
}

// Reseal returns a copy of a payload with a correct checksum. It is for payloads from a trusted source.
func Reseal(p []byte) []byte {
	own := append([]byte(nil), p...)
	if len(own) >= footerBytes {
		binary.LittleEndian.PutUint64(own[len(own)-8:], updateCRC(0, own[:len(own)-8]))
	}
	return own
}

// payloadBody checks the footer of a payload and returns the bytes before it. The error is ErrPayloadFooter.
func payloadBody(p []byte) ([]byte, error) {
	if len(p) < footerBytes {
		return nil, ErrPayloadFooter
	}
	body, footer := p[:len(p)-footerBytes], p[len(p)-footerBytes:]
	if v := binary.LittleEndian.Uint16(footer); v > MaxVersion {
		return nil, fmt.Errorf("%w: version %d, the newest known is %d", ErrPayloadFooter, v, MaxVersion)
	}
	want := binary.LittleEndian.Uint64(footer[2:])
	if sum := updateCRC(0, p[:len(p)-8]); want != sum {
		return nil, fmt.Errorf("%w: checksum is %016x, its bytes give %016x", ErrPayloadFooter, want, sum)
	}
	return body, nil
}

// NextProducers returns the value of the next AuxProducers after a stream. It skips the unread rest of the
// stream. ok is false if there is no further AuxProducers.
func (p *Payload) NextProducers() (value []byte, ok bool, err error) {
	if err := p.drain(); err != nil || p.Kind != Stream {
		return nil, false, err
	}
	if field := p.takeProducers(); field != nil {
		return field, true, nil
	}
	src := &p.d.src
	if src.pos >= src.end || src.buf[src.pos] != opAux {
		return nil, false, nil
	}
	src.pos++
	at := src.offset()
	name, value, err := p.d.pair()
	if err == nil && string(name) != AuxProducers {
		err = p.d.corrupt(at, "field %.64q behind the value", name)
	}
	return value, err == nil, err
}

// Finish skips the unread elements, and reports an error unless the value ends at the end of the payload.
func (p *Payload) Finish() error {
	if err := p.drain(); err != nil {
		return err
	}
	if left := p.d.src.end - p.d.src.pos; left > 0 {
		return p.d.corrupt(p.d.src.offset(), "%d bytes behind the value", left)
	}
	return nil
}

// Offset returns the number of bytes read.
func (p *Payload) Offset() int64 { return p.d.src.offset() }

// DumpPayload appends to dst the payload of the value that write writes: exactly one value, and no key. The
// error says that write did anything else.
func DumpPayload(dst []byte, opts WriterOptions, write func(*Writer)) ([]byte, error) {
	start := len(dst)
	w := newWriter(nil, opts)
	w.buf = dst
	write(w)
	w.endValue()
	if w.err == nil && w.values != 1 {
		w.misuse("payload of %d values", w.values)
	}
	if w.err != nil {
		return dst, w.err
	}
	dst = binary.LittleEndian.AppendUint16(w.buf, uint16(w.version))
	return binary.LittleEndian.AppendUint64(dst, updateCRC(0, dst[start:])), nil
}
