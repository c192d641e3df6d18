package config

import (
	"strings"

	"lockserver/internal/resp"
)

// blanks are the characters that may stand before and after the words of a line.
const blanks = " \t\r\n"

// splitWords cuts a line into words by the rules of redis.conf; ok is false when a quote is not balanced.
func splitWords(line string) (words []string, ok bool) {
	views, ok := resp.SplitWords(nil, []byte(line))
	for _, v := range views {
		words = append(words, string(v))
	}
	return words, ok
}

// quote is the inverse of splitWords for one word: the word in double quotes, in printable ASCII.
func quote(s string) string { return string(resp.AppendQuoted(nil, []byte(s))) }

// shown returns a word of the command line as an error repeats it: quoted only if necessary.
func shown(word string) string {
	if q := quote(word); word == "" || strings.ContainsAny(word, " ") || len(q) != len(word)+2 {
		return q
	}
	return word
}
