package commands

import (
	"bytes"
	"math"

	"lockserver/internal/resp"
	"lockserver/store"
)

// lookUp finds the value that a pattern of BY or GET names for an element. '#' is the element itself.
// Otherwise the element replaces the first '*', and the result is the key of a string, or, with "->field"
// behind the '*', of a hash. The result is a copy, or nil if it does not exist.
func (c *Ctx) lookUp(pattern, element []byte) []byte {
	if string(pattern) == "#" {
		return element
	}
	text := untilZero(pattern)
	star := bytes.IndexByte(text, '*')
	if star < 0 {
		return nil
	}
	end, field := len(pattern), []byte(nil)
	if at := bytes.Index(text[star+1:], []byte("->")); at >= 0 && star+1+at+2 < len(text) {
		end = star + 1 + at
		field = pattern[end+2:]
	}
	key := make([]byte, 0, end+len(element))
	key = append(append(append(key, pattern[:star]...), element...), pattern[star+1:end]...)
	r := c.DB.Find(key)
	switch {
	case field == nil && r.Kind() == store.String:
		return Clone(r.Bytes())
	case field != nil && r.Kind() == store.Hash:
		if value, ok := r.Hash().Get(nil, field); ok && !c.DB.Overdue(r.Hash(), field) {
			return Clone(value)
		}
	}
	return nil
}

// leastNormal is the least number that a double holds with all its digits; C calls
// what is below out of range.
const leastNormal = 0x1p-1022

// sortWeight reads a weight as C's strtod does, with the additional checks of Redis. Leading white space is
// skipped, an empty text is 0, and a number too small to be exact is refused.
func sortWeight(b []byte) (weight float64, ok bool) {
	b = untilZero(b)
	if len(b) == 0 {
		return 0, true
	}
	weight, ok = resp.ParseFloat(bytes.TrimLeft(b, " \t\n\v\f\r"))
	if weight != 0 && math.Abs(weight) < leastNormal {
		return 0, false
	}
	return weight, ok
}
