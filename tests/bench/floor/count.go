package floor

import "bytes"

// heads counts the requests that begin in b: a star before a digit, as in "*3\r\n". No argument may contain
// these two next to each other. star says that the bytes before b ended in a star; last says that b does.
func heads(b []byte, star bool) (count int, last bool) {
	if star && len(b) > 0 && isDigit(b[0]) {
		count++
	}
	for {
		i := bytes.IndexByte(b, '*')
		if i < 0 {
			return count, false
		}
		if b = b[i+1:]; len(b) == 0 {
			return count, true
		}
		if isDigit(b[0]) {
			count++
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
