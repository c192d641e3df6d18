package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNotAcquired says that another owner holds the lock, or held it until the waiting time was over.
	ErrNotAcquired = errors.New("another owner holds the lock")
	// ErrLost says that a lock is not held any more, although the program has not released it: see
	// [LostError].
	ErrLost = errors.New("the lock is lost")
	// ErrReleased says that a lock was unlocked. It is the cause of its context's end. Guard, and a second
	// Unlock, return it.
	ErrReleased = errors.New("the lock was released")
	// ErrDeadlock says that the wait would have closed a cycle of owners that wait for each other. The
	// error's text lists the cycle if this wait has closed it. A call that waits for a lock with the context
	// of that lock is such a cycle, too.
	ErrDeadlock = errors.New("waiting for the lock would never end")
	// ErrHeldOtherwise says that a task ([Client.Task]) holds some of the keys already, but in another way:
	// shared, alone or with other keys.
	ErrHeldOtherwise = errors.New("some of the keys are held by the same task in another way")
	// ErrCrossSlot says that the keys of one call have different slots of a cluster. Keys with the same hash
	// tag, as in "{shop}:a" and "{shop}:b", share a slot. Nothing was locked.
	ErrCrossSlot = errors.New("keys that are used together need one slot of the cluster, which a common {tag} gives them")
	// ErrNotLockserver says that the server lacks the native commands, as Redis does.
	ErrNotLockserver = errors.New("the server has no LOCK.ATTACH: it is no lockserver, or one of another version")
	// ErrNoAnswer says that the server has not answered in time. The command may have been done.
	ErrNoAnswer = errors.New("the server does not answer")
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("the client is closed")
)

// The reasons of a loss that the client detects itself. The other reasons come from the server.
const (
	expired     = "expired" // also a reason of the server
	stale       = "stale"
	unreachable = "unreachable"
	closed      = "closed"
)

// LostError describes a lock that was lost. errors.Is(err, ErrLost) holds for it.
type LostError struct {
	Key   string
	Token int64
	// Reason may come from the server: "expired", "forced" (LOCK.FORCE), "overwritten" or "deleted". It is
	// "unreachable" if the server did not answer until a moment at which the lease may have ended. It is
	// "stale" if the server says that the lock has another holder now, and "closed" after [Client.Close].
	Reason string
	Owner  string        // the name of the holder on the server
	Lease  time.Duration // 0: the server renewed it
	Held   time.Duration // for how long it was held
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the lock %q is lost: %s (token %d, owner %s, %s)", e.Key, e.Reason, e.Token, e.Owner, leaseText(e.Lease))
}

// Is implements the interface of errors.Is.
func (e *LostError) Is(target error) bool {
	return target == ErrLost || target == ErrClosed && e.Reason == closed
}

// replied converts an error reply to an error of this package.
func replied(err error) error {
	var reply ReplyError
	if !errors.As(err, &reply) {
		return err
	}
	text := string(reply)
	switch {
	case strings.HasPrefix(text, "DEADLOCK"):
		return fmt.Errorf("%w: %w", ErrDeadlock, err)
	case strings.HasPrefix(text, "CROSSSLOT"):
		return fmt.Errorf("%w: %w", ErrCrossSlot, err)
	case strings.HasPrefix(text, "ERR unknown command"), strings.HasPrefix(text, "ERR Unknown command"):
		return fmt.Errorf("%w: %w", ErrNotLockserver, err)
	}
	return err
}

// isReply reports whether the server has answered, be it with an error. An error of a server that does not
// lead does not count as an answer: the command was not done and has to be sent again.
func isReply(err error) bool {
	var reply ReplyError
	return err == nil || errors.As(err, &reply) && !isElsewhere(string(reply))
}

// isBroken reports whether an error is the error of a connection, and not a reply.
func isBroken(err error) bool {
	var reply ReplyError
	return err != nil && !errors.As(err, &reply)
}

// isElsewhere reports whether an error reply comes from a server that does not lead, or not yet. UNBLOCKED is
// also the reply when an operator ends a wait, with another text.
func isElsewhere(reply string) bool {
	word, _, _ := strings.Cut(reply, " ")
	switch word {
	case "MOVED", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "LOADING":
		return true
	}
	return strings.HasPrefix(reply, "UNBLOCKED force unblock")
}

// ended returns why a context has ended. errors.Is also holds for it with the context's own error. With the
// caller's cause alone a caller could not see that the reason was the deadline. The limits of this package
// are no deadline of the caller's.
func ended(ctx context.Context) error {
	cause, err := context.Cause(ctx), ctx.Err()
	if errors.Is(cause, err) || errors.Is(cause, ErrNotAcquired) || errors.Is(cause, ErrNoAnswer) || errors.Is(cause, ErrClosed) {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}
