package call

import (
	"time"

	"lockserver/internal/resp"
)

// Fields is a reply that is a map. A missing or null field reads as the zero value.
type Fields map[string]resp.Value

// FieldsOf returns v as a map, in either version of the protocol. It is empty if v is not a map.
func FieldsOf(v resp.Value) Fields {
	f := make(Fields, len(v.Elems)/2)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		f[v.Elems[i].Str] = v.Elems[i+1]
	}
	return f
}

// Text is a field that is a string.
func (f Fields) Text(name string) string { return f[name].Str }

// Int is a field that is an integer.
func (f Fields) Int(name string) int64 { return f[name].Int }

// Number is a field that is a floating point number.
func (f Fields) Number(name string) float64 { return f[name].Float }

// Flag is a field that is true or false.
func (f Fields) Flag(name string) bool { return f[name].Bool }

// List is a field that is an array.
func (f Fields) List(name string) []resp.Value { return f[name].Elems }

// Moment is a field that is a time in milliseconds since 1970. It returns nil if the time is not known.
func (f Fields) Moment(name string) *time.Time {
	v := f[name]
	if v.Kind != resp.Integer {
		return nil
	}
	t := time.UnixMilli(v.Int)
	return &t
}

// Piece splits a reply of the form that SCAN has: the next cursor ("0" at the end) and the elements found.
func Piece(v resp.Value) (next string, found []resp.Value) {
	if len(v.Elems) != 2 {
		return "0", nil
	}
	return v.Elems[0].Str, v.Elems[1].Elems
}
