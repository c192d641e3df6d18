package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// acquire takes a lock, or says why not.
func (c *Client) acquire(ctx context.Context, w wish, options []Option) (*Lock, error) {
	for _, o := range options {
		o(&w)
	}
	if w.lease < 0 || w.lease > 0 && w.lease < time.Millisecond {
		return nil, fmt.Errorf("a lease of %v is too short", w.lease)
	}
	began := time.Now()
	l, err := c.try(ctx, w)
	for _, key := range w.keys {
		switch {
		case err == nil && c.hooks.Acquired != nil:
			c.hooks.Acquired(key, time.Since(began))
		case err != nil && c.hooks.Refused != nil:
			c.hooks.Refused(key, time.Since(began), err)
		}
	}
	return l, err
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
	waits, stop := context.WithTimeoutCause(limited, w.wait, ErrNotAcquired)
	defer stop()
	return c.tryFor(ctx, waits, w)
}

// tryFor waits for the lock as long as limited; the lock has ctx.
func (c *Client) tryFor(ctx, limited context.Context, w wish) (*Lock, error) {
	t := c.taskOf(ctx)
	if err := t.enter(limited, w.keys); err != nil {
		t.leave()
		return nil, err
	}
	h, err := t.has(w)
	if err == nil && h != nil {
		if l := h.take(ctx, w.keys); l != nil {
			t.exit(w.keys)
			t.leave() // the hold is a user
			return l, nil
		}
	}
	if err != nil {
		t.exit(w.keys)
		t.leave()
		return nil, err
	}
	began := time.Now()
	tokens, waited, err := c.ask(limited, t, w)
	if err == nil && waited && w.lease != 0 {
		began = time.Now()
		err = c.begin(limited, t, w, tokens)
	}
	if err == nil {
		err = c.vouchedFor(limited, t)
	}
	if err != nil {
		doubtful := tokens != nil || !isReply(err) && !errors.Is(err, ErrNotAcquired) || limited.Err() != nil
		c.giveBack(t, w, err, doubtful)
		return nil, err
	}
	defer t.exit(w.keys)
	return t.hold(ctx, w, tokens, began)
}

// vouchedFor waits until the server has said that the connection vouches for the task's owner.
func (c *Client) vouchedFor(ctx context.Context, t *task) error {
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, ErrNoAnswer)
	defer cancel()
	select {
	case <-t.vouched.done:
		return t.vouched.err
	case <-limited.Done():
		return ended(limited)
	}
}

// giveBack ends a call that has no lock. In doubt the server may have given it, or may do so when the
// library's command gets there. Until it was released after that, the task does not ask for the keys again:
// that release would end the new lock.
func (c *Client) giveBack(t *task, w wish, why error, doubtful bool) {
	if !doubtful {
		t.exit(w.keys)
		t.leave()
		return
	}
	undo := w.undo(t.owner)
	c.keeper.owe(undo, func() {
		defer t.leave()
		var late *unanswered
		if !errors.As(why, &late) {
			t.exit(w.keys)
			return
		}
		go func() {
			<-late.back
			c.keeper.owe(undo, func() { t.exit(w.keys) })
		}()
	})
}

// has returns the hold that covers the wish already; nil: none does. It is an error if one does in part: on
// the server the keys could not be told apart later.
func (t *task) has(w wish) (*hold, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holds[w.keys[0]]
	for _, key := range w.keys {
		if other := t.holds[key]; other != h || other != nil && other.shared && !w.shared {
			return nil, fmt.Errorf("%w: %q", ErrHeldOtherwise, w.keys)
		}
	}
	return h, nil
}

// hold notes what the server has given.
func (t *task) hold(ctx context.Context, w wish, tokens []int64, began time.Time) (*Lock, error) {
	h := &hold{task: t, keys: w.keys, many: w.many, shared: w.shared, lease: w.lease, tokens: tokens, since: time.Now(), locks: make(map[*Lock]bool)}
	l := h.take(ctx, w.keys)
	t.mu.Lock()
	for _, key := range w.keys {
		t.holds[key] = h
	}
	t.mu.Unlock()
	if reason, ok := t.client.keeper.keep(h); !ok {
		if h.markLost(w.keys[0], tokens[0], reason) {
			h.abandon() // before this call returns: Close waits for it
		}
		return nil, h.loss()
	}
	if w.lease != 0 { // it began no earlier than the call
		h.mu.Lock()
		h.expiry = time.AfterFunc(time.Until(began.Add(w.lease)), func() { h.lose(w.keys[0], tokens[0], expired) })
		h.mu.Unlock()
	}
	return l, nil
}

// words is the command that asks for the lock.
func (w *wish) words(owner string) []string {
	words := []string{"LOCK", w.keys[0], owner}
	if w.many {
		words = append([]string{"MLOCK", strconv.Itoa(len(w.keys))}, w.keys...)
		words = append(words, owner)
	}
	if w.shared {
		words = append(words, "SHARED")
	}
	if w.lease != 0 {
		words = append(words, "PX", strconv.FormatInt(w.lease.Milliseconds(), 10))
	}
	return append(words, "ONCE")
}

// undo is the command that releases what may have been had, or not.
func (w *wish) undo(owner string) []string {
	if !w.many {
		return []string{"UNLOCK", w.keys[0], owner}
	}
	return append(append([]string{"MUNLOCK", strconv.Itoa(len(w.keys))}, w.keys...), owner)
}

// ask sends the command until it is answered, and returns the tokens, and whether they were waited for.
func (c *Client) ask(ctx context.Context, t *task, w wish) (tokens []int64, waited bool, err error) {
	words := w.words(t.owner)
	reply, err := c.again(ctx, words)
	if err != nil {
		return nil, false, err
	}
	if tokens = tokensOf(reply); tokens != nil {
		return tokens, false, nil
	}
	if w.tries {
		return nil, false, ErrNotAcquired
	}
	for attempt := 0; ; attempt++ {
		tokens, err = c.await(ctx, words)
		if isReply(err) || errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrNoAnswer) || ctx.Err() != nil {
			return tokens, true, replied(err)
		}
		select { // the connection broke, and the place in the queue is gone
		case <-time.After(pauses[min(attempt, len(pauses)-1)]):
		case <-ctx.Done():
			return nil, true, ended(ctx)
		}
		if c.keeper.quiet() > c.keeper.sureFor() {
			return nil, true, fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
	}
}

// begin has the fixed leases of locks that were waited for begin anew: when they were granted nobody can
// tell who got the answer late, and a lease must not seem longer than it is.
func (c *Client) begin(ctx context.Context, t *task, w wish, tokens []int64) error {
	for i, key := range w.keys {
		reply, err := c.again(ctx, []string{"RENEW", key, t.owner, "PX", strconv.FormatInt(w.lease.Milliseconds(), 10),
			"TOKEN", strconv.FormatInt(tokens[i], 10)})
		if err == nil && reply != int64(1) {
			err = &LostError{key, tokens[i], expired}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// await waits on a connection of its own, so that the server sees when the caller gives up.
func (c *Client) await(ctx context.Context, words []string) ([]int64, error) {
	conn := c.spares.take()
	if conn == nil {
		var err error
		if conn, err = dialWire(ctx, c.server, c.name, nil); err != nil {
			return nil, err
		}
	}
	ms := int64(0)
	if end, limited := ctx.Deadline(); limited {
		ms = max(1, (time.Until(end) + time.Millisecond - 1).Milliseconds())
	}
	patient, cancel := pastDeadline(ctx)
	defer cancel(nil)
	go c.listen(patient, func() { cancel(ErrNoAnswer) })
	v, err := conn.do(patient, append(words, "WAIT", strconv.FormatInt(ms, 10))...)
	if isReply(err) {
		c.spares.give(conn)
	} else { // broken, or to a server that does not lead
		conn.close(errBroken)
	}
	switch {
	case !isReply(err) && ctx.Err() != nil:
		return nil, ended(ctx)
	case err != nil:
		return nil, err
	case v == nil:
		return nil, notAcquired(ctx)
	}
	return tokensOf(v), nil
}

// listen calls away when the server has not answered the client for as long as leases are sure to last, if
// that is before the end of ctx: a wait can not tell a server that lives from one that does not.
func (c *Client) listen(ctx context.Context, away func()) {
	began, tick := time.Now(), time.NewTicker(c.keeper.lease/6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if min(time.Since(began), c.keeper.quiet()) > c.keeper.sureFor() {
				away()
				return
			}
		}
	}
}

// notAcquired is the error of a wait that the server has ended: that of ctx's end, which is at hand, or
// ErrNotAcquired if an operator has ended the wait.
func notAcquired(ctx context.Context) error {
	end, limited := ctx.Deadline()
	if !limited || time.Until(end) > lateReply {
		return ErrNotAcquired
	}
	<-ctx.Done()
	return ended(ctx)
}

// lateReply is how long behind the end of a wait the server's answer is waited for.
const lateReply = time.Second

// pastDeadline is ctx with a later deadline: it is the server that ends a wait.
func pastDeadline(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled {
			cancel(context.Cause(ctx))
		}
	})
	end, limited := ctx.Deadline()
	if !limited {
		return later, func(why error) { stop(); cancel(why) }
	}
	timed, free := context.WithDeadline(later, end.Add(lateReply))
	return timed, func(why error) { stop(); cancel(why); free() }
}

// tokensOf takes the reply of LOCK or MLOCK apart; nil: the lock was not had.
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

// isStale reports whether the server has said that a lock has another holder.
func isStale(err error) bool {
	var reply ReplyError
	return errors.As(err, &reply) && strings.HasPrefix(string(reply), "STALETOKEN")
}
