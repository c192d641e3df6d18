package rdb

import (
	"encoding/binary"
	"errors"
)

// The LZF block format (Marc Lehmann's liblzf). A control byte c below 32 is followed by c+1 literal bytes.
// Any other control byte is a copy of earlier output. Its length is 2 + (c>>5), plus the next byte when c>>5
// is 7. Then comes the low byte of the distance minus one; its high five bits are those of c. Format, do not
// change.
const (
	lzfMaxLiteral  = 32
	lzfMaxDistance = 1 << 13
	lzfMaxCopy     = 2 + 7 + 255
	// lzfMaxRatio limits the expansion of a block: three bytes yield at most lzfMaxCopy.
	lzfMaxRatio = lzfMaxCopy / 3
)

// Sizes of the compressor, free to change.
const (
	lzfHashBits = 13
	// lzfMaxInput keeps positions within the 32 bits of the table; longer strings are stored uncompressed.
	lzfMaxInput = 1 << 30
)

var errLZF = errors.New("lzf: malformed block")

// lzfDecompress decodes the block in and appends exactly n bytes to dst. It fails when the block is
// malformed, or has another length.
func lzfDecompress(dst, in []byte, n int) ([]byte, error) {
	start := len(dst)
	for i := 0; i < len(in); {
		c := int(in[i])
		i++
		if c < lzfMaxLiteral {
			run := c + 1
			if run > len(in)-i || run > n-(len(dst)-start) {
				return dst, errLZF
			}
			dst = append(dst, in[i:i+run]...)
			i += run
			continue
		}
		length := c >> 5
		if length == 7 {
			if i >= len(in) {
				return dst, errLZF
			}
			length += int(in[i])
			i++
		}
		length += 2
		if i >= len(in) {
			return dst, errLZF
		}
		distance := (c&0x1f)<<8 + int(in[i]) + 1
		i++
		if distance > len(dst)-start || length > n-(len(dst)-start) {
			return dst, errLZF
		}
		from := len(dst) - distance
		for length > 0 { // the copy may overlap itself: appended bytes become its source
			piece := min(length, len(dst)-from)
			dst = append(dst, dst[from:from+piece]...)
			length -= piece
		}
	}
	if len(dst)-start != n {
		return dst, errLZF
	}
	return dst, nil
}

// lzfCompressor keeps the table of recent positions for the next string. Positions of earlier strings are
// below base, so the table need not be cleared for every short string.
type lzfCompressor struct {
	table [1 << lzfHashBits]uint32
	base  uint32
	out   []byte
}

// compress returns in as an LZF block, if the block has at most limit bytes. The block is valid until the
// next call.
func (c *lzfCompressor) compress(in []byte, limit int) ([]byte, bool) {
	if len(in) < 4 || len(in) > lzfMaxInput {
		return nil, false
	}
	if c.base == 0 || c.base > 1<<31 {
		c.table = [1 << lzfHashBits]uint32{}
		c.base = 1
	}
	base := c.base
	c.base += uint32(len(in))
	out := c.out[:0]
	literals := 0
	for i := 0; i+4 <= len(in); {
		h := lzfHash(binary.LittleEndian.Uint32(in[i:]))
		ref := int(c.table[h]) - int(base)
		c.table[h] = base + uint32(i)
		if ref < 0 || i-ref > lzfMaxDistance || in[ref] != in[i] || in[ref+1] != in[i+1] || in[ref+2] != in[i+2] {
			i += 1 + (i-literals)>>6 // the longer nothing matches, the fewer positions are tried
			continue
		}
		length := 3
		for most := min(lzfMaxCopy, len(in)-i); length < most && in[ref+length] == in[i+length]; {
			length++
		}
		out = lzfLiterals(out, in[literals:i])
		out = lzfCopy(out, i-ref, length)
		if len(out) > limit {
			break
		}
		i += length
		literals = i
	}
	if len(out)+len(in)-literals <= limit {
		out = lzfLiterals(out, in[literals:])
		c.out = out
		return out, len(out) <= limit
	}
	c.out = out
	return nil, false
}

// lzfHash spreads the first three bytes of v over the table.
func lzfHash(v uint32) uint32 { return v << 8 * 2654435761 >> (32 - lzfHashBits) }

func lzfLiterals(out, run []byte) []byte {
	for len(run) > 0 {
		n := min(len(run), lzfMaxLiteral)
		out = append(out, byte(n-1))
		out = append(out, run[:n]...)
		run = run[n:]
	}
	return out
}

func lzfCopy(out []byte, distance, length int) []byte {
	distance--
	length -= 2
	if length < 7 {
		return append(out, byte(length<<5|distance>>8), byte(distance))
	}
	return append(out, byte(7<<5|distance>>8), byte(length-7), byte(distance))
}
