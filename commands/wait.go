package commands

import "lockserver/store"

// Wait describes a command that cannot be answered yet, and what it waits for.
type Wait struct {
	// Keys are words of the command, or copies of words, and so is Owner. The host stores only the command,
	// and finds them in it.
	Keys [][]byte
	// DeadlineMS is the end of the wait, in milliseconds since 1970; 0: no end.
	DeadlineMS int64
	// Queue: the waiters of a key are served strictly one after the other, as for a lock. A waiter that
	// cannot be served keeps the waiters after it from trying. Without Queue each waiter tries.
	Queue bool
	// Latch: the key is a latch. While clients wait for it, the commands for operators show it.
	Latch bool
	// Owner is, for locks, the owner that waits. The server then prevents that owners wait for each other in
	// a deadlock cycle.
	Owner []byte
	// Units is the number of units of each lock that the owner wants: see lock_units.go.
	Units int32
	// Permits: the units are permits of a semaphore. An owner that holds permits already waits for more.
	// Counts: the permits that it holds count.
	Permits, Counts bool
	// Kind, unless None, is the kind that one of Keys must have for Try to be able to succeed. If many
	// clients wait for a list, waiters after the last element then need not try.
	Kind store.Kind
	// EndsWithKey: Try also answers when one of Keys is removed. INFO counts the keys of such waits.
	EndsWithKey bool
	// Priority is the level of the wait among those for the same locks, below waiting.Levels.
	Priority uint8
	// Notify: the client is not blocked. It gets a reply at once, and the outcome later as a message.
	Notify bool
	// Lock is used for waits for locks, which have an Owner. All other waits use Try and TimedOut.
	Lock WaitingLock
	// Try is called when a key has changed, in the order in which the clients began to wait. It either
	// answers (reply written or error returned) and returns true, or changes nothing and returns false.
	Try func(c *Ctx) (bool, error)
	// TimedOut writes the reply for a wait that has timed out.
	TimedOut func(c *Ctx)
}

// Waiting is a call that waits. It gets the words of its command again each time, and need not store them.
// The size of a waiter matters, because there may be a hundred thousand of them.
type Waiting interface {
	// Try and TimedOut are described at Wait.
	Try(c *Ctx) (bool, error)
	TimedOut(c *Ctx)
}

// Undoer is a Waiting that can undo a successful Try, for a client that disconnected before it got the reply.
type Undoer interface {
	Undo(c *Ctx)
}

// Waits returns the functions of the waiting call.
func (w *Wait) Waits() Waiting {
	if w.Owner != nil {
		own := w.Lock
		return &own
	}
	return &waitingFuncs{w.Try, w.TimedOut}
}

// waitingFuncs is a Waiting made of two functions.
type waitingFuncs struct {
	try      func(c *Ctx) (bool, error)
	timedOut func(c *Ctx)
}

func (w *waitingFuncs) Try(c *Ctx) (bool, error) { return w.try(c) }

func (w *waitingFuncs) TimedOut(c *Ctx) { w.timedOut(c) }

// Block makes the client wait, or times out at once if nothing may wait. There is only an error if w has an
// Owner.
func (c *Ctx) Block(w Wait) error {
	if !c.MayBlock {
		w.Waits().TimedOut(c)
		return nil
	}
	err := c.Host.Park(c, w)
	if err == nil && w.Priority > 0 {
		c.Count(CountPriorities)
	}
	return err
}
