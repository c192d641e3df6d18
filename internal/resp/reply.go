package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"lockserver/internal/decimal"
)

// ErrMalformed wraps every error of [ReadValue] except the errors of the reader: the bytes are not a reply,
// or exceed the limits below.
var ErrMalformed = errors.New("resp: malformed reply")

// The limits of ReadValue.
const (
	maxReplyDepth = 128
	maxReplyLine  = 1 << 20
	maxReplyBulk  = 1 << 30
	maxReplyElems = 1 << 26
)

// ReadValue reads one reply of either protocol version. It fails with io.EOF when there is nothing to read,
// io.ErrUnexpectedEOF when the reply is cut short, and otherwise with an error that wraps [ErrMalformed]. It
// allocates memory only for bytes that have arrived, not for announced lengths. Numbers are checked as
// strictly as Redis writes them.
func ReadValue(r *bufio.Reader) (Value, error) {
	if _, err := r.Peek(1); err != nil {
		return Value{}, err
	}
	v, err := readValue(r, 0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

func readValue(r *bufio.Reader, depth int) (Value, error) {
	if depth > maxReplyDepth {
		return Value{}, fmt.Errorf("%w: more than %d levels", ErrMalformed, maxReplyDepth)
	}
	line, err := readLine(r)
	if err != nil {
		return Value{}, err
	}
	if len(line) == 0 {
		return Value{}, fmt.Errorf("%w: an empty line", ErrMalformed)
	}
	v, text := Value{Kind: Kind(line[0])}, line[1:]
	switch v.Kind {
	case Simple, Error, BigNumber:
		v.Str = string(text)
		return v, nil
	case Integer, Double, Boolean, Null:
		return readScalar(v.Kind, text)
	case Bulk, BulkError, Verbatim:
		return readString(r, v.Kind, text)
	case Array, Set, Push, Map:
		return readAggregate(r, v.Kind, text, depth)
	case '|':
		attrs, err := readAggregate(r, Map, text, depth)
		if err != nil {
			return Value{}, err
		}
		v, err = readValue(r, depth+1)
		v.Attrs = append(attrs.Elems, v.Attrs...)
		return v, err
	}
	return Value{}, fmt.Errorf("%w: no type begins with %q", ErrMalformed, line[0])
}

func readScalar(kind Kind, text []byte) (Value, error) {
	v, ok := Value{Kind: kind}, false
	switch kind {
	case Integer:
		v.Int, ok = decimal.ParseInt(text)
	case Boolean:
		v.Bool = string(text) == "t"
		ok = v.Bool || string(text) == "f"
	case Null:
		ok = len(text) == 0
	case Double:
		var err error
		v.Str = string(text)
		v.Float, err = strconv.ParseFloat(v.Str, 64)
		ok = err == nil
	}
	if !ok {
		return Value{}, fmt.Errorf("%w: %q is not of type %q", ErrMalformed, text, byte(kind))
	}
	return v, nil
}

func readString(r *bufio.Reader, kind Kind, text []byte) (Value, error) {
	n, ok := decimal.ParseInt(text)
	if ok && n == -1 && kind == Bulk {
		return Value{Kind: NullBulk}, nil
	}
	if !ok || n < 0 || n > maxReplyBulk {
		return Value{}, fmt.Errorf("%w: length %q", ErrMalformed, text)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, n+2); err != nil {
		return Value{}, err
	}
	s := b.Bytes()
	if string(s[n:]) != "\r\n" || kind == Verbatim && (n < 4 || s[3] != ':') {
		return Value{}, fmt.Errorf("%w: a string of length %d does not end, or begin, as it should", ErrMalformed, n)
	}
	return Value{Kind: kind, Str: string(s[:n])}, nil
}

func readAggregate(r *bufio.Reader, kind Kind, text []byte, depth int) (Value, error) {
	n, ok := decimal.ParseInt(text)
	if ok && n == -1 && kind == Array {
		return Value{Kind: NullArray}, nil
	}
	if !ok || n < 0 || n > maxReplyElems {
		return Value{}, fmt.Errorf("%w: length %q", ErrMalformed, text)
	}
	if kind == Map {
		n *= 2
	}
	v := Value{Kind: kind, Elems: make([]Value, 0, min(n, 64))}
	for range n {
		e, err := readValue(r, depth+1)
		if err != nil {
			return Value{}, err
		}
		v.Elems = append(v.Elems, e)
	}
	return v, nil
}

// readLine returns the next line without its CR LF, valid until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) < maxReplyLine {
			line, err = r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if len(line) < 2 || string(line[len(line)-2:]) != "\r\n" {
		return nil, fmt.Errorf("%w: a line does not end with CR LF within %d bytes", ErrMalformed, maxReplyLine)
	}
	return line[:len(line)-2], nil
}
