package slotdata

import (
	"encoding/binary"
	"errors"
	"math"

	"lockserver/internal/resp"
	"lockserver/store"
)

// The stream from a source to a target is a row of frames. The format, do not change: the kind in a byte, the
// length as an unsigned varint, and as many bytes as the length says. A stage entry has any part of the
// stream: it may begin and end in the middle of a frame.
const (
	framePiece = 'p' // a piece of the cut, as Send makes it
	frameUnit  = 'u' // the effects of a unit, each as a RESP array
	frameClose = 'c' // no bytes: both ends add the keys that units have changed to their sums
)

var errFrame = errors.New("the stream of moving slots is damaged, or a newer version wrote it")

// appendFrame appends a frame.
func appendFrame(dst []byte, kind byte, bytes []byte) []byte {
	return append(binary.AppendUvarint(append(dst, kind), uint64(len(bytes))), bytes...)
}

// nextFrame returns the first frame, and the bytes behind it. ok is false if the frame is not complete.
func nextFrame(b []byte) (kind byte, bytes, rest []byte, ok bool, err error) {
	if len(b) < 2 {
		return 0, nil, b, false, nil
	}
	n, used := binary.Uvarint(b[1:])
	switch {
	case used < 0, b[0] != framePiece && b[0] != frameUnit && b[0] != frameClose:
		return 0, nil, b, false, errFrame
	case used == 0 || n > uint64(len(b)-1-used):
		return 0, nil, b, false, nil
	}
	rest = b[1+used:]
	return b[0], rest[:n:n], rest[n:], true, nil
}

// appendUnit appends the effects of a unit of database 0.
func appendUnit(dst []byte, unit []store.Effect) []byte {
	for i := range unit {
		dst = resp.AppendCommand(dst, unit[i].Args...)
	}
	return dst
}

// parseUnit reads the result of appendUnit. The effects share the memory of b.
func parseUnit(b []byte) (unit []store.Effect, err error) {
	var d resp.Decoder
	d.SetLimits(resp.Limits{MaxBulk: math.MaxInt32, MaxQuery: math.MaxInt64})
	d.Feed(b)
	for d.Pending() > 0 {
		args, ok, err := d.Next(nil)
		if err != nil || !ok || len(args) == 0 {
			return nil, errFrame
		}
		unit = append(unit, store.Effect{Args: args})
	}
	return unit, nil
}
