package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"lockserver/client/internal/strict"
)

// Option is an option for taking a lock.
type Option func(*wish)

// Wait bounds how long the call waits for the lock: for d, if that is shorter than the context. The server
// keeps the queue, first come first served. If d is zero or less, the call is a try: it does not wait.
func Wait(d time.Duration) Option {
	return func(w *wish) { w.wait, w.tries = d, w.tries || d <= 0 }
}

// Lease ends the lock after d even if the program still runs; the server does not renew it. Its context ends
// no later. Parts of a millisecond are cut off. A d of less than one millisecond is refused with [ErrValue].
func Lease(d time.Duration) Option {
	return func(w *wish) {
		if w.lease = d.Truncate(time.Millisecond); w.lease <= 0 {
			w.bad = bad("a lease of %v is less than a millisecond", d)
		}
	}
}

// Trace names the trace that the call belongs to. traceparent is the header of W3C Trace Context, as a
// propagator of OpenTelemetry writes it. LOCK.INFO and the history of locks show it. A server with a
// collector exports the wait as a span of that trace. An empty traceparent has no effect. The server refuses
// a traceparent that is not valid, with a [ReplyError].
func Trace(traceparent string) Option { return func(w *wish) { w.trace = traceparent } }

// MaxPriority is the highest number that [Priority] takes.
const MaxPriority = 9

// Priority sets the place among the waiting calls, from 0 (the default) to [MaxPriority]. The server serves
// the higher number first, and calls with the same number in the order of arrival. A waiting call rises with
// time, so none waits for ever. The option has no effect on a call that does not wait. Other numbers are
// refused with [ErrValue].
func Priority(n int) Option {
	return func(w *wish) {
		if w.priority = n; n < 0 || n > MaxPriority {
			w.bad = bad("a priority of %d is not from 0 to %d", n, MaxPriority)
		}
	}
}

// Value has the owner's name end in "=" and v. A program that knows v finds the holder by [Client.Info], in
// whichever program the lock was taken. Two calls with one value are two owners, and one of them waits. A
// task ([Client.Task]) has its owner already: its calls refuse a value with [ErrValue].
func Value(v string) Option { return func(w *wish) { w.value = v } }

// wish is a request for a lock.
type wish struct {
	bad    error // why the request is refused: a bad value of an option
	keys   []string
	many   bool // with MLOCK
	shared bool
	tries  bool          // it does not wait
	wait   time.Duration // 0: as long as the context
	lease  time.Duration // 0: the server renews it
	// priority is the place among the calls that wait; 0 is the default.
	priority int
	trace    string // the traceparent of the call; empty: none
	value    string // ends the owner's name; empty: nothing does
	// permits is the number of requested permits of a semaphore. limit is its limit; 0: its present limit.
	semaphore      bool
	permits, limit int
	initial        int // the limit if this call makes the semaphore; 0: limit is used
	// rate holds the words of a limiter from which units are requested; nil: a lock or a semaphore.
	rate []string
}

// Lock takes the lock at key, waiting for it as long as ctx and [Wait] allow. It is not reentrant, unless ctx
// is that of a task ([Client.Task]).
//
// Without a deadline and without [Wait] it waits as long as there is another holder. It ends earlier, with
// [ErrNoAnswer], if the server has not accepted the request within [Timeout]. It also does if the server has
// not answered at all for about two thirds of the lease of a renewed lock (18.5 s by default).
//
// Errors: [ErrNotAcquired], [ErrDeadlock], [ErrNoAnswer], [ErrClosed], ctx's error with its cause, an error
// reply of the server ([ReplyError]), or an error of the connection. If ctx's deadline ends the wait, the
// error is context.DeadlineExceeded; if Wait ends it, it is ErrNotAcquired.
func (c *Client) Lock(ctx context.Context, key string, options ...Option) (*Lock, error) {
	return c.acquire(ctx, wish{keys: []string{key}}, options)
}

// TryLock is [Client.Lock] without waiting. It returns at the end of ctx, and within [Timeout] in any case.
func (c *Client) TryLock(ctx context.Context, key string, options ...Option) (*Lock, error) {
	return c.acquire(ctx, wish{keys: []string{key}, tries: true}, options)
}

// RLock takes the lock at key shared: other owners may hold it shared at the same time, but not exclusively.
// Its time is bounded as that of [Client.Lock].
func (c *Client) RLock(ctx context.Context, key string, options ...Option) (*Lock, error) {
	return c.acquire(ctx, wish{keys: []string{key}, shared: true}, options)
}

// MLock takes the locks at all of the keys, or no lock. Its time is bounded as that of [Client.Lock].
func (c *Client) MLock(ctx context.Context, keys []string, options ...Option) (*Lock, error) {
	if len(keys) == 0 {
		return nil, bad("no keys to lock")
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return c.acquire(ctx, wish{keys: slices.Compact(keys), many: true}, options)
}

// Lock is a lock that is held, or several locks that were taken together. Its methods may be called from any
// goroutine.
//
// A Lock that a program has forgotten stays held as long as the client lives. When Go's garbage collector
// finds it, the log shows the place of its acquisition.
type Lock struct{ held *held }

// hold is an acquisition of a task on the server. If the task took it several times, several Locks refer to
// it.
type hold struct {
	task   *task
	shard  *shard // that has it; guarded by mu of the keeper, as unsure, sureUntil and hops are
	keys   []string
	many   bool
	shared bool
	lease  time.Duration
	tokens []int64
	// permits is the number of permits of a semaphore; 0: it is a lock.
	permits int
	since   time.Time
	site    []uintptr   // where it was acquired: see held
	expiry  *time.Timer // nil: the server renews it
	until   time.Time   // when a lease of its own ends; guarded by mu, as expiry is
	// unsure runs out at sureUntil, when the lock is lost. It is there while the shard has not said that it
	// has the lock, which another shard had before.
	unsure    *time.Timer
	sureUntil time.Time
	hops      int  // redirections in a row
	leaving   bool // its shard has redirected a check, and the next shard is asked soon

	mu    sync.Mutex
	locks map[*held]bool
	lost  *LostError
	over  bool // the task no longer holds it
}

// Context is derived from the context that the lock was taken with. It ends when the lock is lost or
// released: context.Cause is a [*LostError] or [ErrReleased] then.
//
// Goroutines may share it. A lock that is taken with it has an owner of its own, unless the context comes
// from [Client.Task]. To wait for a lock with that lock's own context returns [ErrDeadlock].
func (l *Lock) Context() context.Context { return l.held.ctx }

// Token is the fencing token: a later holder's token is higher. For several keys it is the token of the first
// key.
func (l *Lock) Token() int64 { return l.held.hold.token(l.held.keys[0]) }

// Tokens returns the fencing tokens by key.
func (l *Lock) Tokens() map[string]int64 {
	tokens := make(map[string]int64, len(l.held.keys))
	for _, key := range l.held.keys {
		tokens[key] = l.held.hold.token(key)
	}
	return tokens
}

func (h *hold) token(key string) int64 { return h.tokens[slices.Index(h.keys, key)] }

// name identifies the lock at one of the keys.
func (h *hold) name(i int) lockName { return lockName{h.keys[i], h.tokens[i]} }

// at returns the shard that has the hold.
func (h *hold) at() *shard {
	k := h.task.client.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	return h.shard
}

// Owner is the name of the holder on the server.
func (l *Lock) Owner() string { return l.held.hold.task.owner }

// Guard runs a command only if the lock is still held at that moment. It fails with a [*LostError] if the
// lock is lost, and with [ErrReleased] after Unlock. It is sent once: after an error of the connection the
// command may have been done or not. It returns at the end of ctx, and within [Timeout] in any case. The
// reply is that of [Server.Do]. The lock must have one key. If a task has taken several keys together,
// Lock(lock.Context(), key) returns a lock with one of them.
func (l *Lock) Guard(ctx context.Context, args ...any) (any, error) {
	h := l.held.hold
	switch {
	case len(l.held.keys) > 1:
		return nil, bad("a lock of %d keys cannot guard a command", len(l.held.keys))
	case len(args) == 0:
		return nil, bad("no command to guard")
	case slices.Contains(args, nil):
		return nil, bad("nil in a command to guard")
	}
	if name, ok := args[0].(string); !ok || name == "" {
		return nil, bad("a command to guard begins with its name, and not with %#v", args[0])
	}
	if err := l.held.over(); err != nil {
		return nil, err
	}
	c, key := h.task.client, l.held.keys[0]
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, ErrNoAnswer)
	defer cancel()
	words := []any{guard, key, l.Token()}
	reply, err := c.untilServed(limited, append(words, args...))
	if !isStale(err) {
		return reply, replied(err)
	}
	h.lose(key, l.Token(), stale)
	if over := l.held.over(); over != nil {
		return nil, over
	}
	return nil, h.lossOf(key, l.Token(), stale)
}

// over returns why the lock is not held any more; nil if it is held, as far as is known.
func (l *held) over() error {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	switch {
	case l.hold.lost != nil:
		return l.hold.lost
	case !l.hold.locks[l]:
		return l.released()
	}
	return nil
}

// released returns the error of a call for a lock that was unlocked.
func (l *held) released() error { return fmt.Errorf("%q: %w", l.keys, ErrReleased) }

// Unlock releases the lock. It must be called once for each time that the lock was taken. It fails with a
// [*LostError] if the lock was lost before. It fails with [ErrReleased], and does nothing, if Unlock was
// called for this Lock before. It fails with the error of the connection if there was no answer. The lock is
// then released as soon as the server can be reached. It returns at the end of ctx. Without a deadline it
// waits for other calls of the same owner for the same key, which are bounded themselves, and then for up to
// [Timeout].
func (l *Lock) Unlock(ctx context.Context) error {
	one, h := l.held, l.held.hold
	if err := h.task.enter(ctx, h.keys); err != nil {
		return err
	}
	defer h.task.exit(h.keys)
	h.mu.Lock()
	if !h.locks[one] {
		lost := h.lost
		h.mu.Unlock()
		if lost != nil {
			return lost
		}
		return one.released()
	}
	delete(h.locks, one)
	last := len(h.locks) == 0
	h.mu.Unlock()
	one.end(ErrReleased)
	if !last {
		return nil
	}
	return h.release(ctx)
}

// release releases the hold on the server.
func (h *hold) release(ctx context.Context) error {
	c := h.task.client
	defer h.end()
	words := h.unlock()
	reply, err := c.again(ctx, words)
	switch {
	case !isReply(err):
		h.at().mustSend(h.keys[0], [][]string{words}, nil)
		return err
	case err != nil:
		return err
	}
	if !allReleased(reply) {
		h.at().sync(ctx) // a loss was pushed before this reply
		if lost := h.loss(); lost != nil {
			return lost
		}
		if strict.IsAsked(ctx) {
			return h.lossOf(h.keys[0], h.tokens[0], stale)
		}
	}
	for _, hooks := range c.hooks {
		if hooks.Released != nil {
			for _, key := range h.keys {
				hooks.Released(key, time.Since(h.since))
			}
		}
	}
	return nil
}

// unlock returns the command that releases the hold. It may be sent several times.
func (h *hold) unlock() []string {
	if h.permits > 0 {
		return releaseWords(h.keys[0], h.task.owner, h.tokens[0])
	}
	return unlockWords(h.keys, h.many, h.task.owner, h.tokens)
}

// unlockWords returns the command that releases locks with these tokens; many: MLOCK has taken them.
func unlockWords(keys []string, many bool, owner string, tokens []int64) []string {
	if !many {
		return []string{"UNLOCK", keys[0], owner, "TOKEN", strconv.FormatInt(tokens[0], 10)}
	}
	words := append([]string{"MUNLOCK", strconv.Itoa(len(keys))}, keys...)
	words = append(words, owner, "TOKENS")
	for _, token := range tokens {
		words = append(words, strconv.FormatInt(token, 10))
	}
	return words
}

// allReleased looks at the reply of UNLOCK or MUNLOCK.
func allReleased(reply any) bool {
	if list, ok := reply.([]any); ok {
		return !slices.Contains(list, nil)
	}
	return reply != nil
}

// end removes the hold from its task. The task is over if this was its last hold.
func (h *hold) end() {
	c, t := h.task.client, h.task
	h.mu.Lock()
	was := h.over
	h.over = true
	if h.expiry != nil {
		h.expiry.Stop()
	}
	h.mu.Unlock()
	if was {
		return
	}
	c.keeper.forget(h)
	t.mu.Lock()
	for _, key := range h.keys {
		if t.holds[key] == h {
			delete(t.holds, key)
		}
	}
	t.mu.Unlock()
}

// lose records that the lock at one of the keys is lost, and releases the rest.
func (h *hold) lose(key string, token int64, reason string) {
	if h.markLost(key, token, reason) {
		go h.abandon()
	}
}

// markLost records that the lock at one of the keys is lost, and reports whether it was held until now.
func (h *hold) markLost(key string, token int64, reason string) bool {
	h.mu.Lock()
	releasing := len(h.locks) == 0
	// A lock that is being released may be gone because an UNLOCK was done and its answer was lost. Then
	// only a push of the server is a loss.
	if h.lost == nil && !(releasing && (reason == stale || reason == unreachable || reason == closed)) {
		h.lost = h.lossOf(key, token, reason)
	}
	locks := h.locks
	h.locks = nil
	h.mu.Unlock()
	if releasing {
		return false
	}
	for l := range locks {
		l.end(h.lost)
	}
	h.task.client.wasLost(h, h.lost)
	return true
}

// lossOf returns the error of a loss.
func (h *hold) lossOf(key string, token int64, reason string) *LostError {
	return &LostError{Key: key, Token: token, Reason: reason, Owner: h.task.owner, Lease: h.lease, Held: time.Since(h.since)}
}

// abandon releases the rest of a hold that is lost: its other keys, or a lock in an unknown state.
func (h *hold) abandon() {
	if h.many || h.lost.Reason == unreachable || h.lost.Reason == closed {
		h.at().mustSend(h.keys[0], [][]string{h.unlock()}, nil)
	}
	h.end()
}

// loss returns how the hold was lost; nil if it was not lost, as far as is known.
func (h *hold) loss() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		return nil
	}
	return h.lost
}

// questions returns the commands that ask whether the server still has the hold, one for each key.
func (h *hold) questions() (commands [][]string) {
	for i, key := range h.keys {
		token := strconv.FormatInt(h.tokens[i], 10)
		words := []string{renewalOf(h.permits), key, h.task.owner, "TOKEN", token}
		if h.lease != 0 {
			words = []string{guard, key, token, "EXISTS", key}
		}
		commands = append(commands, words)
	}
	return commands
}

// String returns a text for logs.
func (l *Lock) String() string {
	return fmt.Sprintf("lock %q of %s (token %d)", l.held.keys, l.Owner(), l.Token())
}
