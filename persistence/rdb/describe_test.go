package rdb

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"lockserver/store/listpack"
)

// describe formats an entry's value in one line. It sorts the parts without an order, so that two values can
// be compared.
func describe(e *Entry) (string, error) {
	s, err := describeObject(&e.Object)
	if err != nil {
		return "", err
	}
	if e.ExpireAtMS != 0 {
		s += fmt.Sprintf(" @%d", e.ExpireAtMS)
	}
	if e.IdleSec >= 0 {
		s += fmt.Sprintf(" idle=%d", e.IdleSec)
	}
	if e.Freq >= 0 {
		s += fmt.Sprintf(" freq=%d", e.Freq)
	}
	return s, nil
}

func describeObject(o *Object) (string, error) {
	var parts []string
	switch o.Kind {
	case String:
		return "string " + word(o.Bytes), nil
	case List, Set:
		for m, ok := o.NextMember(); ok; m, ok = o.NextMember() {
			parts = append(parts, word(m))
		}
	case Hash:
		for f, ok := o.NextField(); ok; f, ok = o.NextField() {
			s := word(f.Name) + "=" + word(f.Value)
			if f.ExpireAtMS != 0 {
				s += fmt.Sprintf("@%d", f.ExpireAtMS)
			}
			parts = append(parts, s)
		}
	case ZSet:
		for m, score, ok := o.NextScored(); ok; m, score, ok = o.NextScored() {
			if math.IsNaN(score) {
				return "", fmt.Errorf("member %q with NaN", m)
			}
			parts = append(parts, word(m)+":"+strconv.FormatFloat(score, 'g', -1, 64))
		}
	case Stream:
		return describeStream(o)
	}
	if o.Kind != List {
		slices.Sort(parts)
	}
	return o.Kind.String() + " " + strings.Join(parts, " "), o.Err()
}

func describeStream(o *Object) (string, error) {
	var s strings.Builder
	s.WriteString("stream")
	for n, ok := o.NextNode(); ok; n, ok = o.NextNode() {
		fmt.Fprintf(&s, " [%d-%d:", n.Master.MS, n.Master.Seq)
		lp := n.Listpack
		for pos := lp.First(); pos >= 0; pos = lp.Next(pos) {
			s.WriteString(" " + word(lp.Get(pos).Append(nil)))
		}
		s.WriteString("]")
	}
	info, err := o.StreamInfo()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&s, " %+v", info)
	for g, ok := o.NextGroup(); ok; g, ok = o.NextGroup() {
		fmt.Fprintf(&s, " %s %v read=%d %v %s", g.Name, g.LastID, g.EntriesRead, g.Pending, describeConsumers(g))
	}
	return s.String(), o.Err()
}

// describeConsumers leaves out the times, because a test cannot choose them.
func describeConsumers(g *Group) string {
	var names []string
	for _, c := range g.Consumers {
		if c.SeenMS <= 0 {
			return fmt.Sprintf("consumer %s was seen at %d", c.Name, c.SeenMS)
		}
		names = append(names, string(c.Name))
	}
	return strings.Join(names, ",")
}

// word formats a string; a long string becomes its length and a checksum.
func word(b []byte) string {
	if len(b) > 80 {
		return fmt.Sprintf("<%d %016x>", len(b), updateCRC(0, b))
	}
	if len(b) > 0 && !strings.ContainsFunc(string(b), func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
		return string(b)
	}
	return strconv.Quote(string(b))
}

// snapshot is the content of a file: "db/key" to description.
type snapshot map[string]string

// readAll reads a file to its end.
func readAll(r io.Reader, opts ReaderOptions) (snapshot, *Reader, error) {
	rd := NewReader(r, opts)
	all := snapshot{}
	for {
		e, err := rd.Next()
		if err == io.EOF {
			return all, rd, nil
		}
		if err != nil {
			return all, rd, err
		}
		name := fmt.Sprintf("%d/%s", e.DB, word(e.Key))
		if _, twice := all[name]; twice {
			return all, rd, rd.DuplicateKey()
		}
		if all[name], err = describe(e); err != nil {
			return all, rd, err
		}
	}
}

// pack makes a listpack of strings; strings that look like integers become integers.
func pack(elements ...string) listpack.List {
	lp := listpack.New()
	for _, e := range elements {
		lp = lp.Append([]byte(e))
	}
	return lp
}

// file makes a snapshot of a version from parts, with its checksum.
func file(version int, parts ...[]byte) []byte {
	b := fmt.Appendf(nil, "REDIS%04d", version)
	b = append(b, bytes.Join(parts, nil)...)
	b = append(b, opEOF)
	if version < checksumSince {
		return b
	}
	var sum [8]byte
	for i, n := 0, updateCRC(0, b); i < 8; i, n = i+1, n>>8 {
		sum[i] = byte(n)
	}
	return append(b, sum[:]...)
}

// cat joins bytes, strings (as they are), byte slices and single numbers below 256.
func cat(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		case listpack.List:
			b = append(b, p...)
		default:
			panic(fmt.Sprintf("cat: %T", p))
		}
	}
	return b
}

// str is a raw string of any length.
func str[T ~string | ~[]byte](s T) []byte {
	n := len(s)
	return cat(0x80, n>>24, n>>16, n>>8, n, []byte(s))
}
