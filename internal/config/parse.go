package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Files holds the functions by which this package reads files and standard input. OSFiles returns the real
// ones.
type Files struct {
	// Read returns a file's content.
	Read func(name string) ([]byte, error)
	// Glob returns the names that match a pattern, sorted. It is no error if no name matches.
	Glob func(pattern string) ([]string, error)
	// Stdin returns everything on standard input.
	Stdin func() ([]byte, error)
}

// includeDepthLimit is how deeply files may include each other.
const includeDepthLimit = 16

// Parse reads the text of a configuration file named name (used in errors) over the defaults; files serves
// its include lines. The error is a *LineError.
func Parse(name string, data []byte, files Files) (*Config, error) {
	l := newLoader(files)
	if err := l.load(name, data, 0); err != nil {
		return nil, err
	}
	return l.c, nil
}

// loader reads several texts into one Config. Later lines win over earlier lines.
type loader struct {
	c     *Config
	files Files
	seen  map[*directive]bool // directives that an earlier line of this load has set
	later map[*directive]int  // the number of options of the command line that will still replace the directive's value
}

func newLoader(files Files) *loader {
	return &loader{c: Default(), files: files, seen: make(map[*directive]bool)}
}

func (l *loader) load(name string, data []byte, depth int) error {
	for n := 1; len(data) > 0; n++ {
		var raw []byte
		raw, data, _ = bytes.Cut(data, []byte("\n"))
		line := strings.Trim(string(raw), blanks)
		if line == "" || line[0] == '#' {
			continue
		}
		refused := func(reason string) error {
			return &LineError{File: name, Line: n, Text: withoutSecret(line), Reason: reason}
		}
		words, ok := splitWords(line)
		if !ok {
			return refused(errUnbalanced.Error())
		}
		if len(words) == 0 {
			continue
		}
		reason, err := l.line(words, depth)
		if err != nil {
			return err
		}
		switch {
		case reason != "" && l.later[lookup(words[0])] > 0:
			l.c.overridden = append(l.c.overridden, fmt.Sprintf("%s:%d: %s", name, n, withoutSecret(line)))
		case reason != "":
			return refused(reason)
		}
	}
	return nil
}

// include loads the files that a pattern names. Its results mean the same as those of line.
func (l *loader) include(pattern string, depth int) (reason string, err error) {
	if depth > includeDepthLimit {
		return errIncludeDepth.Error(), nil
	}
	names := []string{pattern}
	if strings.ContainsAny(pattern, "*?[") {
		if names, err = l.files.Glob(pattern); err != nil {
			return "can't include: " + err.Error(), nil
		}
	}
	for _, name := range names {
		data, err := l.files.Read(name)
		if err != nil {
			return "can't include: " + err.Error(), nil
		}
		if err := l.load(name, data, depth); err != nil {
			return "", err
		}
	}
	return "", nil
}

// line applies one line, given as its words, in a text at the given depth of includes. reason says why the
// line itself is refused, or is empty. err is the refusal of a line in an included file.
func (l *loader) line(words []string, depth int) (reason string, err error) {
	if strings.EqualFold(words[0], "include") {
		if len(words) != 2 {
			return errArgCount.Error(), nil
		}
		return l.include(words[1], depth+1)
	}
	d := lookup(words[0])
	if d == nil {
		return "unknown directive '" + words[0] + "'", nil
	}
	if d.Inert {
		if !slices.Contains(l.c.ignored, d.Name) {
			l.c.ignored = append(l.c.ignored, d.Name)
		}
	}
	if err := d.assign(l.c, words[1:], l.seen[d]); err != nil {
		return err.Error(), nil
	}
	l.seen[d] = true
	return "", nil
}
