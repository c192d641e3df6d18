package resp

import "lockserver/internal/decimal"

// AppendBulk appends a string in the form that requests, replies and logs share.
func AppendBulk[T string | []byte](dst []byte, b T) []byte {
	dst = appendHeader(dst, '$', len(b))
	return append(append(dst, b...), '\r', '\n')
}

// AppendArray appends the header of an array of n values.
func AppendArray(dst []byte, n int) []byte { return appendHeader(dst, '*', n) }

// appendHeader appends the line with a length, in bytes or values.
func appendHeader(dst []byte, kind byte, n int) []byte {
	switch { // most lengths are short
	case n < 10:
		return append(dst, kind, '0'+byte(n), '\r', '\n')
	case n < 100:
		return append(dst, kind, '0'+byte(n/10), '0'+byte(n%10), '\r', '\n')
	}
	dst = decimal.AppendInt(append(dst, kind), int64(n))
	return append(dst, '\r', '\n')
}
