package rdb

import (
	"errors"
	"fmt"
)

// The kinds of *Error.
var (
	// ErrTruncated: the input ends inside an item.
	ErrTruncated = errors.New("truncated")
	// ErrCorrupt: the bytes contradict the format or the checksum.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnsupported: well-formed as far as can be seen, but with an unknown version, type or module.
	ErrUnsupported = errors.New("unsupported")
	// ErrRead: the underlying io.Reader failed; its own error is wrapped too.
	ErrRead = errors.New("read failed")
)

// ErrPayloadFooter is returned by ParsePayload for a payload with a wrong version or checksum.
var ErrPayloadFooter = errors.New("rdb: payload version or checksum is wrong")

// Error is the offset in the input where decoding stopped, and the reason.
type Error struct {
	Offset int64  // bytes from the start of the input
	Kind   error  // ErrTruncated, ErrCorrupt, ErrUnsupported or ErrRead
	Reason string // the finding, with the key
	Err    error  // the reader's error when Kind is ErrRead
}

// Error returns "rdb: offset N: kind: reason".
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("rdb: offset %d: %v: %s: %v", e.Offset, e.Kind, e.Reason, e.Err)
	}
	return fmt.Sprintf("rdb: offset %d: %v: %s", e.Offset, e.Kind, e.Reason)
}

// Unwrap returns the kind and, if there is one, the reader's error.
func (e *Error) Unwrap() []error {
	if e.Err != nil {
		return []error{e.Kind, e.Err}
	}
	return []error{e.Kind}
}
