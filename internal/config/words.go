package config

import (
	"fmt"
	"strings"

	"lockserver/internal/resp"
)

// blanks may stand before and behind a line.
const blanks = " \t\r\n"

// splitWords cuts a line into words by the rules of redis.conf; ok is false when a quote is not balanced.
func splitWords(line string) (words []string, ok bool) {
	views, ok := resp.SplitWords(nil, []byte(line))
	for _, v := range views {
		words = append(words, string(v))
	}
	return words, ok
}

// quote is the inverse of splitWords for one word: always in double quotes, in printable ASCII.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' || c == '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\a':
			b.WriteString(`\a`)
		case c == '\b':
			b.WriteString(`\b`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
