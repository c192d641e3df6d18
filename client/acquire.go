package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// acquire takes a lock. The error says why it did not.
func (c *Client) acquire(ctx context.Context, w wish, options []Option) (*Lock, error) {
	for _, o := range options {
		o(&w)
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	began := time.Now()
	calls := c.begin(ctx, &w)
	l, err := c.try(ctx, w)
	if err != nil {
		err = c.refusal(&w, err)
	}
	for _, hooks := range c.hooks {
		for _, key := range w.keys {
			switch {
			case err == nil && hooks.Acquired != nil:
				hooks.Acquired(key, time.Since(began))
			case err != nil && hooks.Refused != nil:
				hooks.Refused(key, time.Since(began), err)
			}
		}
	}
	for _, call := range calls {
		if call.Had != nil {
			call.Had(err)
		}
	}
	if err == nil && len(calls) > 0 {
		l.held.watch(calls)
	}
	return l, err
}

// begin has the hooks observe a call.
func (c *Client) begin(ctx context.Context, w *wish) (calls []Call) {
	for _, hooks := range c.hooks {
		if hooks.Begin == nil {
			continue
		}
		call := hooks.Begin(ctx, w.keys)
		if w.trace == "" {
			w.trace = call.Trace
		}
		calls = append(calls, call)
	}
	return calls
}

// check refuses values that are not allowed.
func (w *wish) check() error {
	if w.bad != nil {
		return w.bad
	}
	for _, key := range w.keys {
		if err := named("a key", key); err != nil {
			return err
		}
	}
	switch {
	case w.semaphore && min(w.limit, w.initial) < 0:
		return bad("a semaphore of %d permits", min(w.limit, w.initial))
	case w.semaphore && w.limit > 0 && w.permits > w.limit:
		return bad("%d permits of %d", w.permits, w.limit)
	case !w.semaphore && w.permits != 0:
		return errNoPermits
	}
	return nil
}

// try takes the lock for the task that ctx belongs to.
func (c *Client) try(ctx context.Context, w wish) (*Lock, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if !c.keeper.enter() {
		return nil, ErrClosed
	}
	defer c.keeper.calls.Done()
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.keeper.leaving, func() { cancel(ErrClosed) })()
	if w.wait <= 0 {
		return c.tryFor(ctx, limited, w)
	}
	waits, stop := context.WithTimeoutCause(limited, min(w.wait, longest), ErrNotAcquired)
	defer stop()
	return c.tryFor(ctx, waits, w)
}

// tryFor waits for the lock until limited ends; the context of the lock comes from ctx.
func (c *Client) tryFor(ctx, limited context.Context, w wish) (*Lock, error) {
	t, shared := c.taskOf(ctx)
	switch {
	case !shared:
		if err := c.waitsForItself(ctx, &w); err != nil {
			return nil, err
		}
		if w.value != "" {
			t.owner += "=" + w.value
		}
	case w.value != "":
		return nil, bad("a value for a lock of a task, which has an owner already")
	}
	if w.permits > 0 {
		t = t.enterApart(w.keys)
	} else if err := t.enter(limited, w.keys); err != nil {
		return nil, err
	}
	h, err := t.has(w)
	if err == nil && h != nil {
		if l := h.take(ctx, w.keys); l != nil {
			t.exit(w.keys)
			return l, nil
		}
	}
	if err != nil {
		t.exit(w.keys)
		return nil, err
	}
	o := c.keeper.request(limited, t, w)
	switch {
	case o.err == nil:
		defer t.exit(w.keys)
		return t.hold(ctx, w, o)
	case o.doubtful: // the task does not ask again before the lock is released: that release would end the new lock
		o.shard.mustSend(w.keys[0], w.undo(t.owner), func() { t.exit(w.keys) })
	default:
		t.exit(w.keys)
	}
	if errors.Is(o.err, ErrNotAcquired) && !w.tries {
		return nil, notAcquired(limited)
	}
	return nil, o.err
}

// has returns the hold that covers the wish already; nil if there is no such hold. It is an error if a hold
// covers only a part of the keys, because the server could not separate the keys later.
func (t *task) has(w wish) (*hold, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holds[w.keys[0]]
	for _, key := range w.keys {
		if other := t.holds[key]; other != h || other != nil && (other.shared && !w.shared || other.permits > 0) {
			return nil, fmt.Errorf("%w: %q", ErrHeldOtherwise, w.keys)
		}
	}
	return h, nil
}

// hold records the lock that the server has granted.
func (t *task) hold(ctx context.Context, w wish, o outcome) (*Lock, error) {
	h := &hold{task: t, shard: o.shard, keys: w.keys, many: w.many, shared: w.shared, lease: w.lease, permits: w.permits, tokens: o.tokens, since: time.Now(),
		site: callers(), locks: make(map[*held]bool)}
	l := h.take(ctx, w.keys)
	t.mu.Lock()
	for _, key := range w.keys {
		t.holds[key] = h
	}
	t.mu.Unlock()
	if reason, ok := t.client.keeper.keep(h); !ok {
		if h.markLost(w.keys[0], o.tokens[0], reason) {
			h.abandon() // before this call returns, because Close waits for it
		}
		return nil, h.loss()
	}
	if w.lease != 0 { // it began no earlier than the call
		h.expires(o.began.Add(w.lease))
	}
	return l, nil
}

// words returns the command that asks for the lock.
func (w *wish) words(owner string) []string {
	words := []string{"LOCK", w.keys[0], owner}
	switch {
	case w.rate != nil:
		return slices.Clone(w.rate)
	case w.permits > 0:
		words = []string{"SEM.ACQUIRE", w.keys[0], owner, "PERMITS", strconv.Itoa(w.permits)}
		switch {
		case w.initial > 0:
			words = append(words, "INITIAL", strconv.Itoa(w.initial))
		case w.limit > 0:
			words = append(words, "LIMIT", strconv.Itoa(w.limit))
		}
	case w.many:
		words = append([]string{"MLOCK", strconv.Itoa(len(w.keys))}, w.keys...)
		words = append(words, owner)
	}
	if w.shared {
		words = append(words, "SHARED")
	}
	if w.lease != 0 {
		words = append(words, "PX", strconv.FormatInt(w.lease.Milliseconds(), 10))
	}
	if w.trace != "" {
		words = append(words, "TRACE", w.trace)
	}
	return append(words, "ONCE")
}

// undo returns the commands that end a wait, and release a lock that it may have got.
func (w *wish) undo(owner string) (commands [][]string) {
	if !w.tries {
		commands = append(commands, []string{"LOCK.CANCEL", w.keys[0], owner})
	}
	switch {
	case w.rate != nil:
		return commands
	case w.permits > 0:
		return append(commands, []string{"SEM.RELEASE", w.keys[0], owner})
	case !w.many:
		return append(commands, []string{"UNLOCK", w.keys[0], owner})
	}
	return append(commands, append(append([]string{"MUNLOCK", strconv.Itoa(len(w.keys))}, w.keys...), owner))
}

// notAcquired returns the error of a wait that the server has ended. If ctx has ended, or is about to end, it
// is the error of ctx. If an operator has ended the wait, it is ErrNotAcquired.
func notAcquired(ctx context.Context) error {
	end, limited := ctx.Deadline()
	if !limited || time.Until(end) > lateReply {
		return ErrNotAcquired
	}
	<-ctx.Done()
	return ended(ctx)
}

// lateReply is the largest time by which the server's clock may end a wait before the caller's clock does.
const lateReply = time.Second

// tokensOf reads the tokens from the reply of LOCK or MLOCK; nil if the lock was not acquired.
func tokensOf(reply any) []int64 {
	switch reply := reply.(type) {
	case int64:
		return []int64{reply}
	case []any:
		var tokens []int64
		for _, token := range reply {
			n, ok := token.(int64)
			if !ok {
				return nil
			}
			tokens = append(tokens, n)
		}
		return tokens
	}
	return nil
}

// isStale reports whether the server has answered that a lock has another holder.
func isStale(err error) bool {
	var reply ReplyError
	return errors.As(err, &reply) && strings.HasPrefix(string(reply), "STALETOKEN")
}
