package acl

import (
	"bytes"
	"encoding/binary"

	"lockserver/internal/glob"
)

// pattern is a pattern of names in a rule. Most are a prefix and a star, or a whole name: those are compared
// without the general algorithm.
type pattern struct {
	text string
	// prefix is the common beginning of all matches. exact says that it is the only match, rest that every
	// name with this beginning matches.
	prefix      string
	exact, rest bool
	// head&mask are the first bytes of a match, in the form of headOf: most names differ from most patterns
	// there.
	head, mask uint64
}

func newPattern(text string) pattern {
	prefix, exact := glob.Literal([]byte(text))
	p := pattern{text: text, prefix: string(prefix), exact: exact}
	behind := text[min(len(prefix), len(text)):]
	p.rest = !exact && behind == "*" && text[:len(prefix)] == p.prefix
	p.head = headOf(prefix)
	p.mask = headOf(bytes.Repeat([]byte{0xff}, len(prefix)))
	return p
}

// headOf returns the first eight bytes of a name as a number. A shorter name is filled up with zeros.
func headOf(n []byte) (head uint64) {
	if len(n) >= 8 {
		return binary.LittleEndian.Uint64(n)
	}
	for i := len(n) - 1; i >= 0; i-- {
		head = head<<8 | uint64(n[i])
	}
	return head
}

// matches reports whether a name matches.
func (p *pattern) matches(name []byte) bool {
	switch {
	case len(name) < len(p.prefix) || string(name[:len(p.prefix)]) != p.prefix:
		return false
	case p.exact:
		return len(name) == len(p.prefix)
	case p.rest && len(name) > 0: // only the empty pattern matches the empty name
		return true
	}
	return glob.Match([]byte(p.text), name, false)
}

// matchesChannel reports whether the pattern allows a channel, or, literally, a pattern of channels.
func (p *pattern) matchesChannel(name []byte, isPattern bool) bool {
	if isPattern {
		return bytes.Equal([]byte(p.text), name)
	}
	return p.matches(name)
}
