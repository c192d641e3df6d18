// Package ascii compares words of the protocol without regard to case: those of ASCII alone, as Redis does,
// whatever else the bytes may mean in other encodings. It knows no word itself.
package ascii

// Lower is c in lower case.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// EqualFold reports whether b is the word, in any case. word may be in either case itself.
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
