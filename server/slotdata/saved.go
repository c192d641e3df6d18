package slotdata

import (
	"bufio"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"lockserver/store"
)

// savedVersion begins a staging in a snapshot.
const savedVersion = 1

// Saved is a staging as of one moment, for a snapshot of the shard.
type Saved struct {
	cut   *store.Snapshot
	slots *Slots
	head  []byte
}

// Save takes the staging as it is now. The result must be released.
func (s *Staging) Save() *Saved {
	head := []byte{savedVersion, 0}
	if s.failed != nil {
		head[1] = 1
	}
	sum := s.sum.Digest()
	head = append(head, sum[:]...)
	head = binary.AppendUvarint(head, uint64(len(s.changed.names)))
	for _, name := range slices.Sorted(maps.Keys(s.changed.names)) {
		head = appendText(head, []byte(name))
	}
	return &Saved{s.data.Cut(), s.slots, appendText(head, s.partial)}
}

// appendText appends bytes with their length.
func appendText(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// Write writes the staging once. It needs no lock. The format, do not change:
//   - a version, and whether the staging has failed, a byte each;
//   - the sum with 20 bytes;
//   - the number of changed keys, and these;
//   - the part of a frame;
//   - the pieces, and an empty one.
//
// Keys, part and pieces begin with their length, an unsigned varint like
// the number.
func (c *Saved) Write(w io.Writer, breathe func(keys int)) error {
	if _, err := w.Write(c.head); err != nil {
		return err
	}
	err := Send(c.cut, c.slots, breathe, func(piece []byte) error {
		_, err := w.Write(appendText(nil, piece))
		return err
	})
	if err == nil {
		_, err = w.Write([]byte{0})
	}
	return err
}

// Release frees the memory of the cut. It is called under the executor.
func (c *Saved) Release() { c.cut.Release() }

var errSaved = errors.New("a snapshot has a damaged staging of moving slots, or a newer version wrote it")

// mostText bounds the part of a text that ReadSaved reads at once, because a length may be damaged.
const mostText = 1 << 20

// ReadSaved reads the result of Write. begin returns an empty staging. add runs a function that
// adds a piece to it under the executor. Without begin the bytes are passed over.
func ReadSaved(r *bufio.Reader, begin func() *Staging, add func(f func() error) error) (s *Staging, err error) {
	in := savedReader{r: r}
	version, failed := in.byte(), in.byte()
	var sum [sha1.Size]byte
	in.full(sum[:])
	var changed changedKeys
	for range in.number() {
		if in.err != nil {
			break
		}
		if changed.names == nil {
			changed.names = map[string]struct{}{}
		}
		changed.names[string(in.text())] = struct{}{}
	}
	partial := in.text()
	if in.err == nil && (version != savedVersion || failed > 1) {
		in.err = errSaved
	}
	if in.err == nil && begin != nil {
		_ = add(func() error { s = begin(); return nil })
	}
	for in.err == nil {
		piece := in.text()
		if len(piece) == 0 {
			break
		}
		if in.err == nil && s != nil {
			in.err = add(func() error { return s.Piece(0, piece) })
		}
	}
	if in.err != nil {
		return nil, fmt.Errorf("%w: %w", errSaved, in.err)
	}
	if s != nil {
		s.sum, s.changed, s.partial = SumOf(sum), changed, partial
		if failed == 1 {
			s.failed = errSaved
		}
	}
	return s, nil
}

// savedReader reads the parts of a saved staging. After an error all values are zero.
type savedReader struct {
	r   *bufio.Reader
	err error
}

func (in *savedReader) byte() (b byte) {
	if in.err == nil {
		b, in.err = in.r.ReadByte()
	}
	return b
}

func (in *savedReader) full(b []byte) {
	if in.err == nil {
		_, in.err = io.ReadFull(in.r, b)
	}
}

func (in *savedReader) number() (n uint64) {
	if in.err == nil {
		n, in.err = binary.ReadUvarint(in.r)
	}
	return n
}

func (in *savedReader) text() (b []byte) {
	for n := in.number(); n > 0 && in.err == nil; {
		some := min(n, mostText)
		b = append(b, make([]byte, some)...)
		in.full(b[uint64(len(b))-some:])
		n -= some
	}
	if in.err != nil {
		return nil
	}
	return b
}
