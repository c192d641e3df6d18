package resp

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of a [Value]: its first byte on the wire, or one of the two nulls of version 2.
type Kind byte

// The kinds.
const (
	Simple    Kind = '+'
	Error     Kind = '-'
	Integer   Kind = ':'
	Bulk      Kind = '$'
	Array     Kind = '*'
	Null      Kind = '_'
	Boolean   Kind = '#'
	Double    Kind = ','
	BigNumber Kind = '('
	BulkError Kind = '!'
	Verbatim  Kind = '='
	Map       Kind = '%'
	Set       Kind = '~'
	Push      Kind = '>'
	NullBulk  Kind = 'n' // "$-1"
	NullArray Kind = 'N' // "*-1"
)

// Value is one reply, as a tree.
type Value struct {
	Kind Kind
	// Str is the text of every value except aggregates, nulls, integers and booleans. For a verbatim string
	// it includes the format, as in "txt:hello". For a double it is the text as sent, and Equal compares that
	// text.
	Str   string
	Int   int64   // of an Integer
	Float float64 // of a Double
	Bool  bool    // of a Boolean
	// Elems holds the values of an aggregate. In a Map, keys and values alternate.
	Elems []Value
	// Attrs holds the keys and values of an attribute before the value.
	Attrs []Value
}

// IsNull reports whether v is any of the three nulls.
func (v Value) IsNull() bool { return v.Kind == Null || v.Kind == NullBulk || v.Kind == NullArray }

// IsError reports whether v is an error.
func (v Value) IsError() bool { return v.Kind == Error || v.Kind == BulkError }

// Equal reports whether v and w are the same reply, kinds and order included.
func (v Value) Equal(w Value) bool {
	return v.Kind == w.Kind && v.Str == w.Str && v.Int == w.Int && v.Bool == w.Bool &&
		slices.EqualFunc(v.Elems, w.Elems, Value.Equal) && slices.EqualFunc(v.Attrs, w.Attrs, Value.Equal)
}

// String returns v on one line, with the wire type where the text alone would be ambiguous. Simple strings
// are "+OK", errors "-ERR ...", integers have no mark, strings have quotes. Arrays are in [], maps in {},
// sets in ~[], pushes in >[]. Doubles are ",1.5", booleans "#t", nulls "nil", "$nil" and "*nil".
func (v Value) String() string {
	var b strings.Builder
	v.write(&b)
	return b.String()
}

func (v Value) write(b *strings.Builder) {
	if len(v.Attrs) > 0 {
		b.WriteByte('|')
		writePairs(b, v.Attrs)
	}
	switch v.Kind {
	case Integer:
		b.WriteString(strconv.FormatInt(v.Int, 10))
	case Bulk:
		b.WriteString(strconv.Quote(v.Str))
	case BulkError, Verbatim:
		b.WriteByte(byte(v.Kind))
		b.WriteString(strconv.Quote(v.Str))
	case Boolean:
		b.WriteString(map[bool]string{true: "#t", false: "#f"}[v.Bool])
	case Null:
		b.WriteString("nil")
	case NullBulk:
		b.WriteString("$nil")
	case NullArray:
		b.WriteString("*nil")
	case Map:
		writePairs(b, v.Elems)
	case Array:
		writeList(b, v.Elems)
	case Set, Push:
		b.WriteByte(byte(v.Kind))
		writeList(b, v.Elems)
	default: // Simple, Error, Double, BigNumber
		b.WriteByte(byte(v.Kind))
		b.WriteString(v.Str)
	}
}

func writeList(b *strings.Builder, elems []Value) {
	b.WriteByte('[')
	for i, e := range elems {
		if i > 0 {
			b.WriteByte(' ')
		}
		e.write(b)
	}
	b.WriteByte(']')
}

func writePairs(b *strings.Builder, elems []Value) {
	b.WriteByte('{')
	for i, e := range elems {
		switch {
		case i == 0:
		case i%2 == 0:
			b.WriteByte(' ')
		default:
			b.WriteByte(':')
		}
		e.write(b)
	}
	b.WriteByte('}')
}

// AppendCommand appends a command in the form that clients send: an array of strings.
func AppendCommand(dst []byte, args ...[]byte) []byte {
	w := Writer{Buf: dst}
	w.Array(len(args))
	for _, arg := range args {
		w.Bulk(arg)
	}
	return w.Buf
}
