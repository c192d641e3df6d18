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
	// ErrMissing is wrapped by the error of Load and Check when the manifest lists a file that is not there.
	ErrMissing = errors.New("a file that the manifest lists is missing")
	// ErrRewriting is returned by BeginRewrite while another rewrite is under way.
	ErrRewriting = errors.New("aof: a rewrite is under way")
	// ErrInactive is returned by Sync before the first rewrite of a log that Replace
	// gave: nothing of it counts yet.
	ErrInactive = errors.New("aof: the log is not in effect yet")
	// ErrClosed is returned once the log has been closed.
	ErrClosed = errors.New("aof: the log is closed")
)

// Error says where in a file reading stopped, and why.
type Error struct {
	File   string
	Offset int64 // in bytes from the start of the file: where the unit that could not be read begins, or the byte at fault
	Err    error // wraps ErrTorn, ErrCorrupt, or what the receiver of the commands returned
}

// Error gives "FILE: offset N: reason".
func (e *Error) Error() string { return fmt.Sprintf("%s: offset %d: %v", e.File, e.Offset, e.Err) }

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// corrupt makes an error that is ErrCorrupt.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
