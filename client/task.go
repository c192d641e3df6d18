package client

import (
	"context"
	"sync"
)

// task is who holds locks: an owner. Locks that are asked for with the context of another lock have its
// owner: they are reentrant, and the server finds deadlock cycles between owners.
type task struct {
	client *Client
	owner  string
	parent *task // of a task that only has permits; nil: it is one of its own

	mu    sync.Mutex
	holds map[string]*hold         // by key
	busy  map[string]chan struct{} // keys for which a call is under way; closed when it is over
}

type taskKey struct{ client *Client }

// taskOf returns the task that a context belongs to, or a new one.
func (c *Client) taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{c}).(*task)
	if t == nil {
		t = c.newTask()
	}
	return t
}

func (c *Client) newTask() *task {
	return &task{client: c, owner: c.keeper.newOwner(), holds: make(map[string]*hold), busy: make(map[string]chan struct{})}
}

// caller is the task that calls with the context of a hold belong to.
func (t *task) caller() *task {
	if t.parent != nil {
		return t.parent
	}
	return t
}

// enterApart begins a call for permits. Calls of one task for the same semaphore do not wait for each other:
// all but the first have an owner of their own.
func (t *task) enterApart(keys []string) *task {
	if t.enterIdle(keys) {
		return t
	}
	apart := t.client.newTask()
	apart.parent = t
	apart.enterIdle(keys)
	return apart
}

// enter waits until no other call of the task is under way for any of the keys. A lock that is asked for
// again while it is released would be neither. It returns at the end of ctx.
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

// enterIdle is enter if the task has none of the keys, and no call is under way for any; false: it is not
// so.
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

// exit lets the next call for the keys go on.
func (t *task) exit(keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := t.busy[keys[0]]
	for _, key := range keys {
		delete(t.busy, key)
	}
	close(over)
}
