package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// The chapter of a page that a run writes stands between these lines.
const (
	beginMark = "<!-- bench-locks:begin -->"
	endMark   = "<!-- bench-locks:end -->"
)

// marked is a page around its marked chapter: up to and with the first mark, and from the second one on.
type marked struct{ before, after string }

// readMarked reads a page that has both marks, once each and in their order. The error says what is missing.
func readMarked(path string) (marked, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return marked{}, fmt.Errorf("%s does not exist: write it with the lines %s and %s in it, then run again", path, beginMark, endMark)
	}
	if err != nil {
		return marked{}, err
	}
	m, err := findMarks(string(text))
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return m, err
}

func findMarks(text string) (marked, error) {
	for _, mark := range []string{beginMark, endMark} {
		if n := strings.Count(text, mark); n != 1 {
			return marked{}, fmt.Errorf("the line %s is there %d times instead of once", mark, n)
		}
	}
	begin, end := strings.Index(text, beginMark)+len(beginMark), strings.Index(text, endMark)
	if end < begin {
		return marked{}, fmt.Errorf("%s stands before %s", endMark, beginMark)
	}
	return marked{text[:begin], text[end:]}, nil
}

// demoted is a chapter with all its headings one level down, so that they stand below a heading of the page.
func demoted(chapter string) string {
	var b strings.Builder
	for line := range strings.Lines(chapter) {
		if strings.HasPrefix(line, "#") {
			b.WriteByte('#')
		}
		b.WriteString(line)
	}
	return b.String()
}

// replaceMarked puts chapter between the marks of a page, which it reads again, as a run takes minutes.
func replaceMarked(path, chapter string) error {
	m, err := readMarked(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(m.before+"\n\n"+strings.TrimSpace(demoted(chapter))+"\n\n"+m.after), 0o644)
}
