package commands

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Words are the words of a command in one piece of memory, each behind its length as a varint. A client that
// waits keeps its command so: a slice for each word would take as much as the words.
type Words string

// PackWords makes a copy of a command.
func PackWords(argv [][]byte) Words {
	size := 0
	for _, word := range argv {
		size += (bits.Len(uint(len(word))|1)+6)/7 + len(word)
	}
	var b strings.Builder
	b.Grow(size)
	var length [binary.MaxVarintLen64]byte
	for _, word := range argv {
		b.Write(binary.AppendUvarint(length[:0], uint64(len(word))))
		b.Write(word)
	}
	return Words(b.String())
}

// next returns the first word, and what stands behind it.
func (w Words) next() (word string, rest Words) {
	n, shift, i := 0, 0, 0
	for ; w[i] >= 0x80; i++ {
		n |= int(w[i]&0x7f) << shift
		shift += 7
	}
	n |= int(w[i]) << shift
	return string(w[i+1 : i+1+n]), w[i+1+n:]
}

// Append appends the command to argv, with its text in a copy that stands in room if there is enough of it,
// and returns both. The words are valid for as long as nobody else uses the room.
func (w Words) Append(argv [][]byte, room []byte) (_ [][]byte, _ []byte) {
	room = append(room[:0], w...)
	for rest := w; rest != ""; {
		var word string
		word, rest = rest.next()
		end := len(room) - len(rest)
		argv = append(argv, room[end-len(word):end:end])
	}
	return argv, room
}

// Argv returns the command in memory of its own.
func (w Words) Argv() [][]byte {
	argv, _ := w.Append(nil, nil)
	return argv
}

// Bytes returns how long the words are together.
func (w Words) Bytes() (n int) {
	for w != "" {
		var word string
		word, w = w.next()
		n += len(word)
	}
	return n
}

// mostShared is how long a command is at most of which a word may be shared: the whole of it lives for as
// long as the word.
const mostShared = 256

// Own returns a copy of text. If it is one of the words of a short command it is just that word.
func (w Words) Own(text []byte) string {
	for rest := w; rest != "" && len(w) <= mostShared; {
		var word string
		if word, rest = rest.next(); word == string(text) {
			return word
		}
	}
	return string(text)
}
