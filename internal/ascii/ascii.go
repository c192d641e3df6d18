// Package ascii compares words of the protocol without regard to case. Only ASCII letters have a case here,
// as in Redis, whatever the bytes mean in other encodings. The package knows no word itself.
package ascii

// Lower is c in lower case.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// EqualFold reports whether b spells word. The case of both is ignored.
func EqualFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i := range len(word) {
		c, w := b[i], word[i]
		if c == w {
			continue
		}
		if c^w != 0x20 || c|0x20 < 'a' || c|0x20 > 'z' {
			return false
		}
	}
	return true
}
