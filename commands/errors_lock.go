package commands

import "fmt"

const (
	// ErrPriority says that the number after PRIORITY is not a priority.
	ErrPriority = Error("ERR a priority must be an integer from 0 to 9")
	// ErrPriorityAlone says that a call with PRIORITY has no WAIT.
	ErrPriorityAlone = Error("ERR PRIORITY needs WAIT")
)

// ErrLockWaiters says that a lock has the largest allowed number of waiters.
func ErrLockWaiters(key []byte, most int64) Error {
	return Error(fmt.Sprintf("LOCKLIMIT lock '%.128s' has %d waiters already (lock-max-waiters)", key, most))
}

// ErrLockWaits says that a connection has the largest allowed number of waits.
func ErrLockWaits(most int64) Error {
	return Error(fmt.Sprintf("LOCKLIMIT this connection has %d waits already (lock-max-waits-per-client)", most))
}

// ErrShortPrefix says that a prefix of owners is shorter than allowed.
func ErrShortPrefix(least int) Error {
	return Error(fmt.Sprintf("ERR a prefix of owners must have at least %d bytes", least))
}

// ErrLongReason says that the text of a LOCK.ASK is longer than allowed.
func ErrLongReason(most int) Error {
	return Error(fmt.Sprintf("ERR a reason must have at most %d bytes", most))
}
