package client

import (
	"context"
	"errors"
)

// Ending returns one word for how a call for a lock has ended, for metrics.
//
//   - acquired: err is nil
//   - not_acquired, deadlock
//   - timeout, interrupted: the caller's context had a deadline, or was cancelled
//   - no_connection
//   - error: anything else
func Ending(err error) string {
	switch {
	case err == nil:
		return "acquired"
	case errors.Is(err, ErrNotAcquired):
		return "not_acquired"
	case errors.Is(err, ErrDeadlock):
		return "deadlock"
	case errors.Is(err, ErrNoAnswer):
		return "no_connection"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case isBroken(err) && !errors.Is(err, ErrValue) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrLost):
		return "no_connection"
	}
	return "error"
}
