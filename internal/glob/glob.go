// Package glob matches names against the patterns of KEYS, SCAN, PSUBSCRIBE, CONFIG GET and ACL rules. It
// owns the pattern language and knows nothing of what is matched.
//
// In a pattern, '*' stands for any bytes, '?' for one byte, '[abc]', '[a-z]' and '[^a-z]' for one byte of, or
// not of, a class, and '\' takes the next byte literally. It works on bytes, not on characters.
//
// To change the language, change element, which matches one pattern element with one byte. The golden file of
// the test was made with Redis 7.4.1 and shows whether both still agree.
package glob

import "lockserver/internal/ascii"

// maxStars is how many stars Redis follows, each in a call of its own, before it gives up.
const maxStars = 1000

// Match reports whether s as a whole matches pattern. With nocase, ASCII letters match in either case, except
// behind a backslash in a class.
//
// The edge cases are those of Redis. Only the empty pattern matches the empty string, not even "*" does (so
// KEYS and SCAN check for the pattern "*" before they match). A class without its ']' ends with the pattern.
// Bytes from 0x80 on are below 0 in a range. The ends of a range are ordered before case is dropped.
//
// A pattern with more than maxStars stars matches nothing that needs more of them, as in Redis; those in a
// row are one.
//
// It takes at most len(pattern) * len(s) steps. An element other than '*' consumes exactly one byte. So the
// elements between two stars may match at the first place that fits, and a mismatch need only go back to the
// last star. "a*a*a*a*b" cannot make it try every combination.
func Match(pattern, s []byte, nocase bool) bool {
	if len(s) == 0 {
		return len(pattern) == 0
	}
	star, retry := -1, 0 // the pattern behind the last star, and where in s it was last tried
	stars := 0           // how many there were up to there
	p, i := 0, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			p = skipStars(pattern, p)
			if p == len(pattern) {
				return true
			}
			if stars++; stars > maxStars {
				return false
			}
			star, retry = p, i
			continue
		}
		if p < len(pattern) {
			if size, ok := element(pattern[p:], s[i], nocase); ok {
				p += size
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		retry++
		p, i = star, retry
	}
	return skipStars(pattern, p) == len(pattern)
}

// Literal returns the bytes that everything matching pattern begins with, and whether pattern matches nothing
// but exactly those. Case counts. The prefix may be a view into pattern.
func Literal(pattern []byte) (prefix []byte, exact bool) {
	i := 0
	for i < len(pattern) && !special(pattern[i]) {
		i++
	}
	prefix = pattern[:i:i]
	for ; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\' && i+1 < len(pattern):
			i++
			c = pattern[i]
		case c != '\\' && special(c):
			return prefix, false
		}
		prefix = append(prefix, c)
	}
	return prefix, true
}

func special(c byte) bool { return c == '*' || c == '?' || c == '[' || c == '\\' }

// skipStars returns the offset of the first byte at or after p that is no star.
func skipStars(pattern []byte, p int) int {
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p
}

// element reports whether c matches the element, other than a star, that pattern begins with, and the
// element's size in bytes. The size means nothing when it does not match.
func element(pattern []byte, c byte, nocase bool) (size int, ok bool) {
	switch {
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		return class(pattern, c, nocase)
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, same(pattern[1], c, nocase)
	default:
		return 1, same(pattern[0], c, nocase)
	}
}

// class is element for "[...]".
func class(pattern []byte, c byte, nocase bool) (size int, ok bool) {
	p := 1
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	found := false
	for p < len(pattern) && pattern[p] != ']' {
		switch left := len(pattern) - p; {
		case pattern[p] == '\\' && left >= 2:
			found = found || pattern[p+1] == c
			p += 2
		case left >= 3 && pattern[p+1] == '-':
			found = found || between(pattern[p], pattern[p+2], c, nocase)
			p += 3
		default:
			found = found || same(pattern[p], c, nocase)
			p++
		}
	}
	if p < len(pattern) {
		p++ // the ']'
	}
	return p, found != negated
}

// between compares as C's signed char.
func between(from, to, c byte, nocase bool) bool {
	a, b := int8(from), int8(to)
	if a > b {
		a, b = b, a
	}
	if nocase {
		a, b, c = int8(ascii.Lower(byte(a))), int8(ascii.Lower(byte(b))), ascii.Lower(c)
	}
	return a <= int8(c) && int8(c) <= b
}

func same(a, b byte, nocase bool) bool {
	return a == b || nocase && ascii.Lower(a) == ascii.Lower(b)
}
