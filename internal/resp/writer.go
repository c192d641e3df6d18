package resp

import (
	"strconv"

	"github.com/tidwall/redcon"

	"lockserver/internal/decimal"
)

// Writer appends replies to Buf. The name of a method is the meaning of the value; Proto selects the
// encoding. Any Proto below 3 is version 2.
//
// An aggregate (Array, Map, Set, Push) is a header with the number of values that follow; the caller writes
// them.
type Writer struct {
	// Buf holds the written bytes. The sender takes it and replaces it by an empty slice.
	Buf []byte
	// Proto is the protocol version that the client requested with HELLO: 2 or 3.
	Proto int
}

// Len returns the number of written bytes.
func (w *Writer) Len() int { return len(w.Buf) }

// Mark returns a position for Rollback.
func (w *Writer) Mark() int { return len(w.Buf) }

// Rollback removes everything written since Mark returned mark.
func (w *Writer) Rollback(mark int) { w.Buf = w.Buf[:mark] }

// Raw appends bytes that are encoded already.
func (w *Writer) Raw(b []byte) { w.Buf = append(w.Buf, b...) }

// OK appends the status OK.
func (w *Writer) OK() { w.Buf = redcon.AppendOK(w.Buf) }

// Pong appends the status PONG.
func (w *Writer) Pong() { w.Buf = append(w.Buf, "+PONG\r\n"...) }

// Simple appends a status. Line breaks in it become spaces.
func (w *Writer) Simple(s string) { w.Buf = redcon.AppendString(w.Buf, s) }

// Error appends an error. msg begins with its code word, such as "ERR" or "WRONGTYPE". Line breaks at the end
// are dropped, others become spaces, as in Redis.
func (w *Writer) Error(msg string) {
	for len(msg) > 0 && (msg[len(msg)-1] == '\n' || msg[len(msg)-1] == '\r') {
		msg = msg[:len(msg)-1]
	}
	w.Buf = redcon.AppendError(w.Buf, msg)
}

// Int appends an integer.
func (w *Writer) Int(n int64) {
	if uint64(n) < 10 {
		w.Buf = append(w.Buf, ':', '0'+byte(n), '\r', '\n')
		return
	}
	w.Buf = append(decimal.AppendInt(append(w.Buf, ':'), n), '\r', '\n')
}

// Digits appends a number with a known decimal form, as Int does.
func (w *Writer) Digits(text []byte) {
	w.Buf = append(append(append(w.Buf, ':'), text...), '\r', '\n')
}

// Bulk appends a string. A nil slice is the empty string; Null appends a missing value.
func (w *Writer) Bulk(b []byte) { w.Buf = AppendBulk(w.Buf, b) }

// BulkString appends a string.
func (w *Writer) BulkString(s string) { w.Buf = AppendBulk(w.Buf, s) }

// BulkInt appends an integer in the form of a string. redcon's AppendBulkInt
// allocates, so this does not use it.
func (w *Writer) BulkInt(n int64) {
	var text [20]byte
	w.Bulk(decimal.AppendInt(text[:0], n))
}

// Null appends the absence of a value.
func (w *Writer) Null() {
	if w.Proto >= 3 {
		w.null3()
		return
	}
	w.Buf = redcon.AppendNull(w.Buf)
}

// NullArray appends a missing array. Only version 2 distinguishes it from a missing value.
func (w *Writer) NullArray() {
	if w.Proto >= 3 {
		w.null3()
		return
	}
	w.Buf = append(w.Buf, "*-1\r\n"...)
}

func (w *Writer) null3() { w.Buf = append(w.Buf, "_\r\n"...) }

// Array begins an array of n values.
func (w *Writer) Array(n int) { w.Buf = AppendArray(w.Buf, n) }

// Ints appends an array of integers.
func (w *Writer) Ints(list ...int64) {
	b := AppendArray(w.Buf, len(list))
	for _, n := range list {
		if uint64(n) < 10 {
			b = append(b, ':', '0'+byte(n), '\r', '\n')
		} else {
			b = append(decimal.AppendInt(append(b, ':'), n), '\r', '\n')
		}
	}
	w.Buf = b
}

// Map begins a map of n pairs; 2n values follow. In version 2 it is an array of 2n.
func (w *Writer) Map(n int) { w.aggregate('%', n) }

// Set begins a set of n values; in version 2 an array.
func (w *Writer) Set(n int) { w.aggregate('~', n) }

// Push begins an out-of-band message of n values; in version 2 an array.
func (w *Writer) Push(n int) { w.aggregate('>', n) }

// aggregate appends the header of the RESP3 aggregate kind, or of the array that replaces it in version 2.
func (w *Writer) aggregate(kind byte, n int) {
	kind, n = w.header(kind, n)
	w.Buf = appendHeader(w.Buf, kind, n)
}

func (w *Writer) header(kind byte, n int) (byte, int) {
	if w.Proto >= 3 {
		return kind, n
	}
	if kind == '%' {
		n *= 2
	}
	return '*', n
}

// Double appends a floating point number; in version 2 its text as a string. See [AppendDouble].
func (w *Writer) Double(f float64) {
	var space [32]byte
	text := AppendDouble(space[:0], f)
	if w.Proto < 3 {
		w.Bulk(text)
		return
	}
	w.Buf = append(w.Buf, ',')
	w.Buf = append(w.Buf, text...)
	w.Buf = append(w.Buf, "\r\n"...)
}

// DoubleText appends a floating point number with a known text; in version 2 as a string.
func (w *Writer) DoubleText(text []byte) {
	if w.Proto < 3 {
		w.Bulk(text)
		return
	}
	w.Buf = append(append(append(w.Buf, ','), text...), '\r', '\n')
}

// Bool appends true or false; in version 2 the integer 1 or 0.
func (w *Writer) Bool(b bool) {
	text := ":0\r\n"
	switch {
	case w.Proto >= 3 && b:
		text = "#t\r\n"
	case w.Proto >= 3:
		text = "#f\r\n"
	case b:
		text = ":1\r\n"
	}
	w.Buf = append(w.Buf, text...)
}

// Verbatim appends text that is meant to be displayed unchanged. format has three bytes, "txt" or "mkd". In
// version 2 it is a string without the format.
func (w *Writer) Verbatim(format, text string) {
	if len(format) != 3 {
		panic("resp: a verbatim string's format is three bytes, not " + strconv.Quote(format))
	}
	if w.Proto < 3 {
		w.BulkString(text)
		return
	}
	w.Buf = appendHeader(w.Buf, '=', len(format)+1+len(text))
	w.Buf = append(w.Buf, format...)
	w.Buf = append(w.Buf, ':')
	w.Buf = append(w.Buf, text...)
	w.Buf = append(w.Buf, "\r\n"...)
}

// BigNumber appends an integer of any size, given as its decimal digits; in version 2 a string.
func (w *Writer) BigNumber(digits string) {
	if w.Proto < 3 {
		w.BulkString(digits)
		return
	}
	w.Buf = append(w.Buf, '(')
	w.Buf = append(w.Buf, digits...)
	w.Buf = append(w.Buf, "\r\n"...)
}

// Deferred is the position of an aggregate with a length that is known only after its values were written. It
// ends with the matching Set method, or with a Rollback to before it. Inner aggregates end before outer ones.
type Deferred struct {
	at   int
	kind byte
}

// placeholder holds a Deferred's place: the size of a header with one digit, in bytes that no reply begins
// with, so that a Deferred that has moved is noticed.
const placeholder = "\x00?\x00?"

// DeferArray begins an array; SetArray says how many values it has.
func (w *Writer) DeferArray() Deferred { return w.deferHeader('*') }

// DeferMap begins a map; SetMap says how many pairs it has.
func (w *Writer) DeferMap() Deferred { return w.deferHeader('%') }

// DeferSet begins a set; SetSet says how many values it has.
func (w *Writer) DeferSet() Deferred { return w.deferHeader('~') }

// SetArray ends what DeferArray began: n values have been written since.
func (w *Writer) SetArray(d Deferred, n int) { w.setHeader(d, '*', n) }

// SetMap ends what DeferMap began: n pairs have been written since.
func (w *Writer) SetMap(d Deferred, n int) { w.setHeader(d, '%', n) }

// SetSet ends what DeferSet began: n values have been written since.
func (w *Writer) SetSet(d Deferred, n int) { w.setHeader(d, '~', n) }

func (w *Writer) deferHeader(kind byte) Deferred {
	d := Deferred{at: len(w.Buf), kind: kind}
	w.Buf = append(w.Buf, placeholder...)
	return d
}

// setHeader writes the header over the placeholder and moves the bytes behind it when it has more digits.
func (w *Writer) setHeader(d Deferred, kind byte, n int) {
	body := d.at + len(placeholder)
	if d.kind != kind || body > len(w.Buf) || string(w.Buf[d.at:body]) != placeholder {
		panic("resp: a deferred header was ended twice, after an outer one, or as another kind")
	}
	kind, n = w.header(kind, n)
	var space [24]byte
	header := append(decimal.AppendInt(append(space[:0], kind), int64(n)), "\r\n"...)
	if grow := len(header) - len(placeholder); grow > 0 {
		w.Buf = append(w.Buf, header[:grow]...) // reserves space; the move overwrites it
		copy(w.Buf[body+grow:], w.Buf[body:len(w.Buf)-grow])
	}
	copy(w.Buf[d.at:], header)
}
