package tracecontext

import "encoding/hex"

// Context names a span in a trace.
type Context struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte
}

const (
	// sampled is the flag of a recorded trace.
	sampled = 1
	// length is the length of a header of version 00.
	length = len("00-") + 32 + len("-") + 16 + len("-00")
)

// Sampled reports whether the caller records the trace.
func (c *Context) Sampled() bool { return c.Flags&sampled != 0 }

// String returns the context as a header of version 00, 55 characters.
func (c *Context) String() string {
	b := make([]byte, 0, length)
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, c.Trace[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, c.Span[:])
	b = append(b, '-')
	return string(hex.AppendEncode(b, []byte{c.Flags}))
}

// Parse reads a header. ok is false if it is not valid: a digit is not lower-case hexadecimal, an identifier
// is zero, the version is ff, or the length is wrong.
func Parse(text []byte) (c Context, ok bool) {
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return Context{}, false
	}
	var version, flags [1]byte
	ok = digits(version[:], text[:2]) && digits(c.Trace[:], text[3:35]) && digits(c.Span[:], text[36:52]) && digits(flags[:], text[53:55])
	if !ok || version[0] == 0xff || c.Trace == [16]byte{} || c.Span == [8]byte{} {
		return Context{}, false
	}
	if len(text) > length && (version[0] == 0 || text[length] != '-') {
		return Context{}, false
	}
	c.Flags = flags[0]
	return c, true
}

// digits decodes lower-case hexadecimal digits.
func digits(dst, text []byte) bool {
	for i := range dst {
		high, ok1 := digit(text[2*i])
		low, ok2 := digit(text[2*i+1])
		if !ok1 || !ok2 {
			return false
		}
		dst[i] = high<<4 | low
	}
	return true
}

func digit(b byte) (value byte, ok bool) {
	switch {
	case b >= '0' && b <= '9':
		return b - '0', true
	case b >= 'a' && b <= 'f':
		return b - 'a' + 10, true
	}
	return 0, false
}
