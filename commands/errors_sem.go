package commands

import "fmt"

// The errors of semaphores.
const (
	ErrPermits     Error = "ERR PERMITS must be between 1 and 1000000000"
	ErrPermitLimit Error = "ERR LIMIT must be between 1 and 1000000000"
)

// ErrNoSemaphore says that a key has no semaphore, and that a call without a limit cannot create it.
func ErrNoSemaphore(key []byte) Error {
	return quoted("ERR no such semaphore '", key, "', the SEM.ACQUIRE that makes it needs a LIMIT")
}

// ErrTooManyPermits says that a call asks for more permits than the semaphore has.
func ErrTooManyPermits(key []byte, permits, limit int64) Error {
	return quoted("ERR semaphore '", key, fmt.Sprintf("' has limit %d, which is less than the %d PERMITS asked for", limit, permits))
}

// ErrLimitMismatch says that a call names another limit than the semaphore has.
func ErrLimitMismatch(key []byte, limit, named int64) Error {
	return quoted("LIMITMISMATCH semaphore '", key, fmt.Sprintf("' has limit %d, not %d", limit, named))
}
