package lockclass

import (
	"bytes"
	"encoding/binary"
)

// mostPrefixes limits the simple patterns that are compared one after the other. A comparison takes about a
// nanosecond, and a look into the cache of classes takes longer.
const mostPrefixes = 8

// prefix is a pattern without special characters, apart from a '*' at its end.
type prefix struct {
	want, mask uint64   // the first eight bytes
	sure       *Figures // the class of a key of at least eight bytes that match; nil: the class depends on the rest
	rest       []byte   // the text after the first eight bytes
	length     int      // length of the text before the '*'
	whole      bool     // the pattern has no '*': it matches only its own text
	class      int
}

// prefixesOf returns the patterns of all classes in order. It returns nil if one is not simple, or if there
// are too many.
func prefixesOf(patterns [][][]byte, classes []*Figures) (list []prefix) {
	for class, of := range patterns {
		for _, p := range of {
			text, open := bytes.CutSuffix(p, []byte("*"))
			if bytes.ContainsAny(text, `*?[\`) || len(list) == mostPrefixes {
				return nil
			}
			head := text[:min(len(text), 8)]
			mask := ^uint64(0)
			if len(head) < 8 {
				mask = 1<<(8*len(head)) - 1
			}
			var sure *Figures
			if open && len(text) <= 8 {
				sure = classes[class]
			}
			list = append(list, prefix{sure: sure, want: first(head), mask: mask, rest: text[len(head):], length: len(text), whole: !open, class: class})
		}
	}
	return list
}

// first returns the first eight bytes of a text. A shorter text is filled up with zeros.
func first(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.LittleEndian.Uint64(text)
	}
	var b [8]byte
	copy(b[:], text)
	return binary.LittleEndian.Uint64(b[:])
}

// matchPrefix does what match does, with prefixes.
func (t *Table) matchPrefix(key []byte) int {
	if len(t.prefixes) == 0 {
		return len(t.patterns)
	}
	head := first(key)
	for i := range t.prefixes {
		p := &t.prefixes[i]
		if head&p.mask != p.want || len(key) < p.length || p.whole && len(key) != p.length || !p.whole && len(key) == 0 {
			continue
		}
		if len(p.rest) == 0 || string(key[8:8+len(p.rest)]) == string(p.rest) {
			return p.class
		}
	}
	return len(t.patterns)
}
