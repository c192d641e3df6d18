package rdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

const (
	// sumBytes is the length of the checksum at the end.
	sumBytes = 8
	// longestAux limits the length of a name or value of an AUX field that Rewrite copies.
	longestAux = 1 << 20
)

// Rewrite copies a file from r to w with other AUX fields at its beginning: the fields in set replace fields
// with their names, and all others stay. It verifies the checksum of the file, if there is one, and writes a
// new checksum. The error wraps ErrCorrupt if the checksum is wrong; after any error the output is useless.
func Rewrite(w io.Writer, r io.Reader, set []AuxField) error {
	in := &summed{in: bufio.NewReaderSize(r, 64<<10)}
	out := &summing{out: w}
	head := make([]byte, headerBytes)
	if err := in.take(head); err != nil {
		return fmt.Errorf("the file is cut off: %w", err)
	}
	version, err := strconv.Atoi(string(head[len(magic):]))
	if err != nil || string(head[:len(magic)]) != magic {
		return fmt.Errorf("the file begins with %.9q, which is no RDB file", head)
	}
	if version < checksumSince {
		return fmt.Errorf("%w: RDB version %d, which has no checksum", ErrUnsupported, version)
	}
	_, err = out.Write(head)
	for _, a := range set {
		if err == nil {
			_, err = out.Write(appendAux(nil, a))
		}
	}
	if err != nil {
		return err
	}
	if err := copyAux(out, in, set); err != nil {
		return err
	}
	if err := in.rest(out); err != nil {
		return err
	}
	_, err = w.Write(binary.LittleEndian.AppendUint64(nil, out.sum))
	return err
}

// copyAux copies the AUX fields at the beginning, except the replaced fields.
func copyAux(out io.Writer, in *summed, set []AuxField) error {
	for {
		next, err := in.in.Peek(1)
		if err != nil {
			return fmt.Errorf("the file is cut off: %w", err)
		}
		if next[0] != opAux {
			return nil
		}
		raw := make([]byte, 1)
		if err := in.take(raw); err != nil {
			return err
		}
		name, raw, err := in.text(raw)
		if err == nil {
			_, raw, err = in.text(raw)
		}
		if err != nil {
			return fmt.Errorf("an AUX field: %w", err)
		}
		if slices.ContainsFunc(set, func(a AuxField) bool { return a.Name == name }) {
			continue
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
}

// appendAux appends an AUX field.
func appendAux(dst []byte, a AuxField) []byte {
	dst = append(dst, opAux)
	for _, text := range []string{a.Name, a.Value} {
		dst = append(dst, 0x80)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(text)))
		dst = append(dst, text...)
	}
	return dst
}

// summed reads a file, and computes its checksum.
type summed struct {
	in  *bufio.Reader
	sum uint64
}

// take reads exactly len(b) bytes into b.
func (s *summed) take(b []byte) error {
	if _, err := io.ReadFull(s.in, b); err != nil {
		return err
	}
	s.sum = updateCRC(s.sum, b)
	return nil
}

// text reads a string, and appends its bytes in the file to raw. A compressed string has no text.
func (s *summed) text(raw []byte) (text string, _ []byte, err error) {
	more := func(n int) (b []byte, err error) {
		b = make([]byte, n)
		if err = s.take(b); err == nil {
			raw = append(raw, b...)
		}
		return b, err
	}
	first, err := more(1)
	if err != nil {
		return "", nil, err
	}
	var size uint32
	switch c := first[0]; {
	case c>>6 == 0:
		size = uint32(c)
	case c>>6 == 1:
		low, err := more(1)
		if err != nil {
			return "", nil, err
		}
		size = uint32(c&0x3f)<<8 | uint32(low[0])
	case c == 0x80:
		b, err := more(4)
		if err != nil {
			return "", nil, err
		}
		size = binary.BigEndian.Uint32(b)
	case c >= 0xc0 && c <= 0xc2: // an integer of one, two or four bytes
		b, err := more(1 << (c & 3))
		if err != nil {
			return "", nil, err
		}
		b = append(b, 0, 0, 0)
		return strconv.Itoa(int(int32(binary.LittleEndian.Uint32(b)))), raw, nil
	default:
		return "", nil, errors.New("it has an encoding that no AUX field has")
	}
	if size > longestAux {
		return "", nil, fmt.Errorf("it has %d bytes", size)
	}
	b, err := more(int(size))
	return string(b), raw, err
}

// rest copies the rest of the file without the checksum, and verifies the checksum.
func (s *summed) rest(to io.Writer) error {
	var kept []byte // the last bytes so far, which may be the checksum
	block := make([]byte, 64<<10)
	for {
		n, err := s.in.Read(block)
		kept = append(kept, block[:n]...)
		if ready := len(kept) - sumBytes; ready > 0 {
			s.sum = updateCRC(s.sum, kept[:ready])
			if _, err := to.Write(kept[:ready]); err != nil {
				return err
			}
			kept = kept[:copy(kept, kept[ready:])]
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, io.EOF):
			return err
		case len(kept) < sumBytes:
			return fmt.Errorf("the file is cut off: %w", io.ErrUnexpectedEOF)
		}
		if is := binary.LittleEndian.Uint64(kept); is != 0 && is != s.sum {
			return fmt.Errorf("%w: the checksum of the file is %016x, its bytes give %016x", ErrCorrupt, is, s.sum)
		}
		return nil
	}
}

// summing writes a file, and computes its checksum.
type summing struct {
	out io.Writer
	sum uint64
}

// Write implements io.Writer.
func (s *summing) Write(b []byte) (int, error) {
	s.sum = updateCRC(s.sum, b)
	return s.out.Write(b)
}
