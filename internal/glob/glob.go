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

// maxStars is the number of stars that Redis follows, each by a recursive call, before it gives up.
const maxStars = 1000

// Match reports whether s as a whole matches pattern. With nocase, ASCII letters match in either case, except
// behind a backslash in a class.
//
// The edge cases are those of Redis. Only the empty pattern matches the empty string; even "*" does not (so
// KEYS and SCAN check for the pattern "*" before they match). A class without its ']' ends with the pattern.
// Bytes from 0x80 on count as negative in a range. The ends of a range are ordered before case is dropped.
//
// A text that needs more than maxStars stars of the pattern does not match, as in Redis. Several stars in a
// row count as one star.
//
// It takes at most len(pattern) * len(s) steps. An element other than '*' consumes exactly one byte. So the
// elements between two stars may match at the first place that fits, and a mismatch need only go back to the
// last star. "a*a*a*a*b" cannot make it try every combination.
func Match(pattern, s []byte, nocase bool) bool {
	if len(s) == 0 {
		return len(pattern) == 0
	}
	star, retry := -1, 0 // star is the position behind the last star in the pattern, retry the position in s where it was last tried
	stars := 0           // the number of stars so far
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

// Literal returns the common prefix of all texts that match pattern. exact says that pattern matches only the
// prefix itself. Case counts. The prefix may share memory with pattern.
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

// skipStars returns the offset of the first byte at or after p that is not a star.
func skipStars(pattern []byte, p int) int {
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p
}

// element reports whether c matches the first element of pattern, which is not a star. size is the element's
// length in bytes; it is only valid if c matches.
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

// class does what element does, for "[...]".
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
		p++ // skip the ']'
	}
	return p, found != negated
}

// between compares bytes like C's signed char.
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
