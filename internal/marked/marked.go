// Package marked replaces the part of a page that a program writes.
//
// It owns the marks "<!-- name:begin -->" and "<!-- name:end -->". Each mark stands once in a page, in that
// order, and the program owns the text between them. The package must not know what the part is about, or
// touch a file.
package marked

import (
	"fmt"
	"strings"
)

// marks returns the two lines around the part with a name.
func marks(name string) (begin, end string) {
	return "<!-- " + name + ":begin -->", "<!-- " + name + ":end -->"
}

// Between returns the marked part of a text, without the blank lines around it. The
// error says which mark is missing.
func Between(text, name string) (string, error) {
	from, to, err := find(text, name)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(text[from:to]), nil
}

// Replace returns text with the part between the marks replaced and set off by blank lines. The error says
// which mark is missing.
func Replace(text, name, part string) (string, error) {
	from, to, err := find(text, name)
	if err != nil {
		return "", err
	}
	return text[:from] + "\n\n" + strings.TrimSpace(part) + "\n\n" + text[to:], nil
}

// find returns where the marked part begins and ends.
func find(text, name string) (from, to int, err error) {
	begin, end := marks(name)
	for _, mark := range []string{begin, end} {
		if n := strings.Count(text, mark); n != 1 {
			return 0, 0, fmt.Errorf("the mark %s is there %d times instead of once", mark, n)
		}
	}
	from, to = strings.Index(text, begin)+len(begin), strings.Index(text, end)
	if to < from {
		return 0, 0, fmt.Errorf("%s stands before %s", end, begin)
	}
	return from, to, nil
}
