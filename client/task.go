package client

import (
	"context"
	"sync"
)

// task is who holds locks: an owner. Locks that are asked for with the context of another lock have its
// owner: they are reentrant, and the server finds circles of those who wait for each other.
type task struct {
	client  *Client
	owner   string
	vouched *vouched

	mu    sync.Mutex
	holds map[string]*hold         // by key
	busy  map[string]chan struct{} // keys for which a call is under way; closed when it is over
	users int                      // calls and holds; at 0 nobody has to vouch for the owner any more
}

type taskKey struct{ client *Client }

// taskOf returns the task that a context belongs to, or a new one, and counts the caller as its user.
func (c *Client) taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{c}).(*task)
	if t == nil {
		t = &task{client: c, holds: make(map[string]*hold), busy: make(map[string]chan struct{})}
		t.owner, t.vouched = c.keeper.newOwner()
	}
	t.mu.Lock()
	t.users++
	t.mu.Unlock()
	return t
}

// leave ends a use.
func (t *task) leave() {
	t.mu.Lock()
	t.users--
	last := t.users == 0
	t.mu.Unlock()
	if last {
		t.client.keeper.detach(t.owner)
	}
}

// enter waits until no other call of the task is under way for any of the keys: a lock that is asked for
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
			over := make(chan struct{})
			for _, key := range keys {
				t.busy[key] = over
			}
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
