package aof

import (
	"errors"
	"fmt"
)

var (
	// ErrTorn is wrapped by the error of Load when the last file ends in the middle of a unit
	// and LoadOptions.CutTorn is off.
	ErrTorn = errors.New("the end is torn")
	// ErrCorrupt is wrapped by the error of Load, Check and ParseManifest for bytes
	// that contradict the format.
	ErrCorrupt = errors.New("corrupt")
	// ErrMissing is wrapped by the error of Load and Check when the manifest lists a file that does not
	// exist.
	ErrMissing = errors.New("a file that the manifest lists is missing")
	// ErrRewriting is returned by BeginRewrite while another rewrite is running.
	ErrRewriting = errors.New("aof: a rewrite is under way")
	// ErrInactive is returned by Sync before the first rewrite of a log from Replace: nothing in it counts
	// yet.
	ErrInactive = errors.New("aof: the log is not in effect yet")
	// ErrClosed is returned after the log was closed.
	ErrClosed = errors.New("aof: the log is closed")
)

// Error is the place in a file where reading stopped, and the reason.
type Error struct {
	File   string
	Offset int64 // in bytes from the start of the file: the beginning of the unit that could not be read, or the faulty byte
	Err    error // wraps ErrTorn or ErrCorrupt, or is the error of the receiver of the commands
}

// Error returns "FILE: offset N: reason".
func (e *Error) Error() string { return fmt.Sprintf("%s: offset %d: %v", e.File, e.Offset, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// corrupt makes an error that wraps ErrCorrupt.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
