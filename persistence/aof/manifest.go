package aof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"lockserver/internal/decimal"
	"lockserver/internal/resp"
	"lockserver/persistence/disk"
)

// The types of files: the letters of the manifest (format, do not change).
const (
	typeBase    = 'b'
	typeIncr    = 'i'
	typeHistory = 'h'
)

const (
	// maxManifestLine limits the length of a line, as in Redis.
	maxManifestLine = 1024
	// maxManifestBytes limits the size of a manifest: some hundred thousand files.
	maxManifestBytes = 16 << 20
)

// badManifest and the beginnings of the other errors are the words of Redis, because tools look for them.
const badManifest = "Invalid AOF manifest file format"

// Entry is a file of a log.
type Entry struct {
	Name string // in the log's directory
	Seq  int64  // from 1
	Type byte   // 'b' base, 'i' incremental, 'h' history
}

// Manifest lists the files of a log. The zero Manifest means that there is no log.
type Manifest struct {
	Base    *Entry  // nil: no base
	Incrs   []Entry // by rising Seq
	History []Entry // replaced files, which are to be deleted
}

// ParseManifest reads a manifest; name is for errors, which are *Error and wrap ErrCorrupt. It skips unknown
// words, and lines that begin with '#'.
func ParseManifest(name string, text []byte) (Manifest, error) {
	var m Manifest
	if len(text) == 0 {
		return m, &Error{name, 0, corrupt("Found an empty AOF manifest")}
	}
	for at := 0; at < len(text); {
		end := bytes.IndexByte(text[at:min(len(text), at+maxManifestLine)], '\n')
		if end < 0 {
			return m, &Error{name, int64(at), corrupt("The AOF manifest file contains too long line, of more than %d bytes, or one without end", maxManifestLine)}
		}
		if text[at] != '#' {
			if err := m.line(text[at : at+end]); err != nil {
				return m, &Error{name, int64(at), err}
			}
		}
		at += end + 1
	}
	return m, nil
}

// line adds the entry of a line.
func (m *Manifest) line(line []byte) error {
	line = bytes.Trim(line, " \t\r\n")
	words, ok := resp.SplitWords(nil, line)
	if !ok || len(words) < 6 || len(words)%2 != 0 {
		return corrupt("%s: %q", badManifest, line)
	}
	var e Entry
	for i := 0; i < len(words); i += 2 {
		value := words[i+1]
		switch strings.ToLower(string(words[i])) {
		case "file":
			if !isBaseName(value) {
				return corrupt("File can't be a path, just a filename: %q", value)
			}
			e.Name = string(value)
		case "seq":
			n, ok := decimal.ParseInt(value)
			if !ok || n < 1 {
				return corrupt("%s: %q is not the number of a file", badManifest, value)
			}
			e.Seq = n
		case "type":
			if len(value) > 0 {
				e.Type = value[0]
			}
		}
	}
	if e.Name == "" || e.Seq == 0 || e.Type == 0 {
		return corrupt("%s: %q names no file, number and type", badManifest, line)
	}
	return m.add(e)
}

func (m *Manifest) add(e Entry) error {
	switch e.Type {
	case typeBase:
		if m.Base != nil {
			return corrupt("Found duplicate base file information: %q and %q", m.Base.Name, e.Name)
		}
		m.Base = &e
	case typeIncr:
		if n := len(m.Incrs); n > 0 && m.Incrs[n-1].Seq >= e.Seq {
			return corrupt("Found a non-monotonic sequence number: %d behind %d", e.Seq, m.Incrs[n-1].Seq)
		}
		m.Incrs = append(m.Incrs, e)
	case typeHistory:
		m.History = append(m.History, e)
	default:
		return corrupt("Unknown AOF file type: %q", e.Type)
	}
	return nil
}

// isBaseName reports whether a name contains no directory.
func isBaseName(name []byte) bool {
	s := string(name)
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

// AppendText appends the manifest in the form of its file.
func (m Manifest) AppendText(dst []byte) []byte {
	if m.Base != nil {
		dst = m.Base.appendLine(dst)
	}
	for _, e := range m.History {
		dst = e.appendLine(dst)
	}
	for _, e := range m.Incrs {
		dst = e.appendLine(dst)
	}
	return dst
}

func (e Entry) appendLine(dst []byte) []byte {
	dst = append(dst, "file "...)
	if needsQuotes(e.Name) {
		dst = resp.AppendQuoted(dst, []byte(e.Name))
	} else {
		dst = append(dst, e.Name...)
	}
	dst = strconv.AppendInt(append(dst, " seq "...), e.Seq, 10)
	return append(append(dst, " type "...), e.Type, '\n')
}

// needsQuotes reports whether a name would not be read back as one word.
func needsQuotes(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || c == '"' || c == '\'' || c == '\\' {
			return true
		}
	}
	return name == ""
}

// files lists the base, if there is one, and the incremental files: the files that a load reads, in this
// order.
func (m Manifest) files() []Entry {
	var list []Entry
	if m.Base != nil {
		list = append(list, *m.Base)
	}
	return append(list, m.Incrs...)
}

// isEmpty reports whether there is no log.
func (m Manifest) isEmpty() bool { return m.Base == nil && len(m.Incrs) == 0 }

// nextBase returns the number of the next base file.
func (m Manifest) nextBase() int64 {
	if m.Base == nil {
		return 1
	}
	return m.Base.Seq + 1
}

// nextIncr returns the number of the next incremental file. It is also above the numbers in the history,
// because these files will be deleted by name.
func (m Manifest) nextIncr() int64 {
	next := int64(1)
	for _, e := range m.Incrs {
		next = max(next, e.Seq+1)
	}
	for _, e := range m.History {
		next = max(next, e.Seq+1)
	}
	return next
}

// readManifest reads the manifest at a path. The error is fs.ErrNotExist if there is none.
func readManifest(files disk.FS, path string) (Manifest, error) {
	size, err := files.Size(path)
	if err != nil {
		return Manifest{}, err
	}
	if size > maxManifestBytes {
		return Manifest{}, &Error{path, maxManifestBytes, corrupt("no manifest has %d bytes", size)}
	}
	f, err := files.Open(path)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxManifestBytes))
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	return ParseManifest(path, text)
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
