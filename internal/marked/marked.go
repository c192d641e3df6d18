// Package marked replaces the part of a page that a program writes.
//
// It owns the marks: "<!-- name:begin -->" and "<!-- name:end -->" stand once each, in that order, and what
// lies between them is the program's. It must not know what the part is about, nor touch a file.
package marked

import (
	"fmt"
	"strings"
)

// marks are the two lines around the part of that name.
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

// Replace returns text with another part between the marks, set off by blank lines. The
// error says which mark is missing.
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
