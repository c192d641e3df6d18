package commands

import "fmt"

// ErrLockWaiters says that a lock has as many waiters as it may have.
func ErrLockWaiters(key []byte, most int64) Error {
	return Error(fmt.Sprintf("LOCKLIMIT lock '%.128s' has %d waiters already (lock-max-waiters)", key, most))
}

// ErrLockWaits says that a connection has as many waits as it may have.
func ErrLockWaits(most int64) Error {
	return Error(fmt.Sprintf("LOCKLIMIT this connection has %d waits already (lock-max-waits-per-client)", most))
}

// ErrShortPrefix says that a prefix of owners has fewer bytes than it must have.
func ErrShortPrefix(least int) Error {
	return Error(fmt.Sprintf("ERR a prefix of owners must have at least %d bytes", least))
}
