package commands

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Words holds the words of a command in one piece of memory. A waiting client keeps its command in this form,
// because a slice for each word would take as much as the words. Each word begins with a varint. It is twice
// the length of the word, which follows. For one of knownWords it is twice its number plus one, and nothing
// follows.
type Words string

// knownWords lists frequent words of waiting commands, as clients write them. A varint of one byte can encode
// 64 of them.
var knownWords = [...]string{"LOCK", "MLOCK", "PX", "EX", "WAIT", "SHARED", "ONCE", "lock", "mlock", "px", "ex", "wait", "shared", "once",
	"BLPOP", "BRPOP", "BLMOVE", "BZPOPMIN", "BZPOPMAX", "LEFT", "RIGHT", "XREAD", "XREADGROUP", "GROUP", "COUNT", "BLOCK", "NOACK", "STREAMS",
	"blpop", "brpop", "xread", "xreadgroup", "group", "count", "block", "streams", "30000", "NOTIFY", "notify"}

// known returns the number of a word in knownWords, or -1.
func known(word []byte) int {
	const longest = len("XREADGROUP")
	if len(word) < 2 || len(word) > longest {
		return -1
	}
	for i, w := range knownWords {
		if w == string(word) {
			return i
		}
	}
	return -1
}

// PackWords returns a copy of a command.
func PackWords(argv [][]byte) Words {
	size := 0
	for _, word := range argv {
		if known(word) >= 0 {
			size++
		} else {
			size += (bits.Len(uint(2*len(word))|1)+6)/7 + len(word)
		}
	}
	var b strings.Builder
	b.Grow(size)
	var head [binary.MaxVarintLen64]byte
	for _, word := range argv {
		if n := known(word); n >= 0 {
			b.WriteByte(byte(2*n + 1))
			continue
		}
		b.Write(binary.AppendUvarint(head[:0], uint64(2*len(word))))
		b.Write(word)
	}
	return Words(b.String())
}

// next returns the first word, and the rest of the words.
func (w Words) next() (word string, rest Words) {
	n, shift, i := 0, 0, 0
	for ; w[i] >= 0x80; i++ {
		n |= int(w[i]&0x7f) << shift
		shift += 7
	}
	n |= int(w[i]) << shift
	if rest = w[i+1:]; n&1 == 1 {
		return knownWords[n>>1], rest
	}
	return string(rest[:n>>1]), rest[n>>1:]
}

// Append appends the command to argv, with a copy of its text, and returns both. The copy is in buf if that
// is large enough. The words are valid until buf is used again.
func (w Words) Append(argv [][]byte, buf []byte) (_ [][]byte, _ []byte) {
	if n := w.Bytes(); cap(buf) < n {
		buf = make([]byte, 0, n)
	}
	buf = buf[:0]
	for rest := w; rest != ""; {
		var word string
		word, rest = rest.next()
		at := len(buf)
		buf = append(buf, word...)
		argv = append(argv, buf[at:len(buf):len(buf)])
	}
	return argv, buf
}

// Argv returns a copy of the command.
func (w Words) Argv() [][]byte {
	argv, _ := w.Append(nil, nil)
	return argv
}

// Bytes returns the total length of the words.
func (w Words) Bytes() (n int) {
	for w != "" {
		var word string
		word, w = w.next()
		n += len(word)
	}
	return n
}

// Find returns the position of the first word equal to text, for At, or -1.
func (w Words) Find(text []byte) int {
	for rest := w; rest != ""; {
		at := len(w) - len(rest)
		var word string
		if word, rest = rest.next(); word == string(text) {
			return at
		}
	}
	return -1
}

// At returns the word at the position that Find returned. It is not a copy: keeping it keeps the whole
// command in memory.
func (w Words) At(at int) string {
	word, _ := w[at:].next()
	return word
}
