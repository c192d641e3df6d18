package rdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A payload of FUNCTION DUMP holds the libraries in the form of a snapshot, an opcode and a string each,
// followed by the footer of a DUMP payload. Format, do not change.

var (
	// ErrNotFunction says that a payload of functions contains something other than a library.
	ErrNotFunction = fmt.Errorf("rdb: something else than a function library")
	// ErrFunctionPreGA says that a library is in the form of a release candidate of Redis 7.
	ErrFunctionPreGA = fmt.Errorf("rdb: a function library in the form of a release candidate of Redis 7")
)

// DumpFunctions appends the payload of libraries, given by their code, to dst. compress stores long code with
// LZF.
func DumpFunctions(dst []byte, libraries [][]byte, compress bool) []byte {
	start := len(dst)
	w := newWriter(nil, WriterOptions{Compress: compress})
	w.buf = dst
	for _, code := range libraries {
		w.Function(code)
	}
	dst = binary.LittleEndian.AppendUint16(w.buf, uint16(w.version))
	return binary.LittleEndian.AppendUint64(dst, updateCRC(0, dst[start:]))
}

// ParseFunctions returns the code of the libraries in a payload. The error is ErrPayloadFooter,
// ErrNotFunction, ErrFunctionPreGA, or an *Error if the payload is malformed.
func ParseFunctions(p []byte) (libraries [][]byte, err error) {
	body, err := payloadBody(p)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	d.src.buf, d.src.end = body, len(body)
	for d.src.pos < d.src.end {
		op, err := d.byte()
		switch {
		case err != nil:
			return nil, err
		case op == opFunctionPreGA:
			return nil, ErrFunctionPreGA
		case op != opFunction2:
			return nil, ErrNotFunction
		}
		code, err := d.string()
		if err != nil {
			return nil, err
		}
		libraries = append(libraries, bytes.Clone(code))
	}
	return libraries, nil
}
