package rdb

import (
	"errors"
	"fmt"
)

// What an *Error unwraps to.
var (
	// ErrTruncated: the input ends in the middle of something.
	ErrTruncated = errors.New("truncated")
	// ErrCorrupt: the bytes contradict the format or the checksum.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported: well-formed as far as can be seen, but of a version, type or
	// module that is not known here.
	ErrUnsupported = errors.New("unsupported")
	// ErrRead: the underlying io.Reader failed; its own error is wrapped too.
	ErrRead = errors.New("read failed")
)

// ErrPayloadFooter is returned by ParsePayload for a payload with a wrong version or checksum.
var ErrPayloadFooter = errors.New("rdb: payload version or checksum is wrong")

// Error says where in the input and why decoding stopped.
type Error struct {
	Offset int64  // bytes from the start of the input
	Kind   error  // ErrTruncated, ErrCorrupt, ErrUnsupported or ErrRead
	Reason string // what was found, with the key
	Err    error  // the reader's error when Kind is ErrRead
}

// Error gives "rdb: offset N: kind: reason".
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("rdb: offset %d: %v: %s: %v", e.Offset, e.Kind, e.Reason, e.Err)
	}
	return fmt.Sprintf("rdb: offset %d: %v: %s", e.Offset, e.Kind, e.Reason)
}

// Unwrap gives the kind and, when there is one, the reader's error.
func (e *Error) Unwrap() []error {
	if e.Err != nil {
		return []error{e.Kind, e.Err}
	}
	return []error{e.Kind}
}
