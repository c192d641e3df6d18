package redsync

import (
	"errors"
	"fmt"
)

var (
	// ErrFailed says that the context has ended, or that the lock was had too late.
	ErrFailed = errors.New("redsync: failed to acquire lock")
	// ErrExtendFailed says that a lock was extended too late.
	ErrExtendFailed = errors.New("redsync: failed to extend lock")
	// ErrLockAlreadyExpired says that a lock to be unlocked has ended, and is free.
	ErrLockAlreadyExpired = errors.New("redsync: failed to unlock, lock was already expired")
)

// ErrTaken says that others have the lock on a majority of the servers.
type ErrTaken struct{ Nodes []int }

func (err ErrTaken) Error() string {
	return fmt.Sprintf("lock already taken, locked nodes: %v", err.Nodes)
}

// ErrNodeTaken says that another value has the lock on one of the servers.
type ErrNodeTaken struct{ Node int }

func (err ErrNodeTaken) Error() string {
	return fmt.Sprintf("node #%d: lock already taken", err.Node)
}

// RedisError says what went wrong with one of the servers.
type RedisError struct {
	Node int
	Err  error
}

func (e RedisError) Error() string { return fmt.Sprintf("node #%d: %s", e.Node, e.Err) }

// Unwrap returns the error of the server or the connection.
func (e RedisError) Unwrap() error { return e.Err }
