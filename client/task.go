package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// task is an owner, the holder of locks.
type task struct {
	client *Client
	owner  string

	mu    sync.Mutex
	holds map[string]*hold         // by key
	busy  map[string]chan struct{} // keys for which a call is under way; closed when it is over
}

type taskKey struct{ client *Client }

// Task returns a context for one owner: all locks that are taken with it, or with a context that comes from
// it, have the same owner. To take a lock again that the task holds succeeds at once, and each time must be
// unlocked. The server finds deadlocks between tasks ([ErrDeadlock]): a task waits for a lock of another
// task, which waits for a lock of this task.
//
// A TASK IS FOR ONE GOROUTINE. GOROUTINES THAT SHARE A TASK ARE INSIDE OF A LOCK AT THE SAME TIME: for the
// server they are one owner. A context that goes to other goroutines must come from a task of each of them,
// or from none.
//
//	ctx = locks.Task(ctx)
//	outer, err := locks.Lock(ctx, "account:1") // and a function that is called with ctx may lock it again
func (c *Client) Task(ctx context.Context) context.Context {
	return context.WithValue(ctx, taskKey{c}, c.newTask())
}

// taskOf returns the task that a context belongs to, or a new task for one acquisition.
func (c *Client) taskOf(ctx context.Context) (t *task, shared bool) {
	if t, shared = ctx.Value(taskKey{c}).(*task); shared {
		return t, true
	}
	return c.newTask(), false
}

// waitsForItself reports whether a call would wait for a lock with the context of that lock. The lock is held
// as long as the context lives.
func (c *Client) waitsForItself(ctx context.Context, w *wish) error {
	if w.tries || w.permits > 0 {
		return nil
	}
	for h := c.heldOf(ctx); h != nil; h = h.outer {
		for _, key := range h.keys {
			if slices.Contains(w.keys, key) && h.hold.permits == 0 && !(h.hold.shared && w.shared) && h.isHeld() {
				return fmt.Errorf("%w: %q is held by the lock that this context is of, and only a task takes it again: see Client.Task", ErrDeadlock, key)
			}
		}
	}
	return nil
}

func (c *Client) newTask() *task {
	return &task{client: c, owner: c.keeper.newOwner(), holds: make(map[string]*hold), busy: make(map[string]chan struct{})}
}

// enterApart begins a call for permits. Calls of one task for the same semaphore do not wait for each other:
// all but the first have an owner of their own.
func (t *task) enterApart(keys []string) *task {
	if t.enterIdle(keys) {
		return t
	}
	apart := t.client.newTask()
	apart.enterIdle(keys)
	return apart
}

// enter waits until no other call of the task is under way for any of the keys. Without it, a lock could be
// taken again while it is being released. It returns at the end of ctx.
func (t *task) enter(ctx context.Context, keys []string) error {
	for {
		t.mu.Lock()
		var other chan struct{}
		for _, key := range keys {
			if t.busy[key] != nil {
				other = t.busy[key]
				break
			}
		}
		if other == nil {
			t.begin(keys)
			t.mu.Unlock()
			return nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}

// enterIdle is enter if the task has none of the keys, and no call is under way for any of them. Otherwise it
// returns false and does nothing.
func (t *task) enterIdle(keys []string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if t.busy[key] != nil || t.holds[key] != nil {
			return false
		}
	}
	t.begin(keys)
	return true
}

// begin records that a call is under way; the caller holds mu.
func (t *task) begin(keys []string) {
	over := make(chan struct{})
	for _, key := range keys {
		t.busy[key] = over
	}
}

// exit lets the next call for the keys continue.
func (t *task) exit(keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := t.busy[keys[0]]
	for _, key := range keys {
		delete(t.busy, key)
	}
	close(over)
}
