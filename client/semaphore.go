package client

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"
)

// Semaphore is a number of permits on the server. It lets as many holders work at the same time, over all
// machines.
type Semaphore struct {
	client *Client
	key    string
	limit  int
	// initial is the limit if the first Acquire makes the semaphore; 0: limit is used.
	initial int
}

// Semaphore returns the semaphore at key, which has limit permits. Nothing is sent: the first Acquire makes
// the semaphore, and it is gone when no permit is held. All programs must give the same limit. Limit 0 stands
// for the semaphore's present limit.
func (c *Client) Semaphore(key string, limit int) Semaphore {
	return Semaphore{client: c, key: key, limit: limit}
}

// Initial returns the semaphore with a limit that is used only by the call that makes it (INITIAL): an
// existing semaphore keeps its limit. So programs with different limits work together while they are replaced
// one by one.
func (s Semaphore) Initial(limit int) Semaphore {
	s.limit, s.initial = 0, limit
	if limit == 0 {
		s.initial = -1 // -1 is refused
	}
	return s
}

// Permits sets the number of permits that [Semaphore.Acquire] takes; the default is 1. All are granted at the
// same moment, or none is granted.
func Permits(n int) Option {
	return func(w *wish) {
		w.permits = n
		if err := atLeast(1, "a number of permits", n); err != nil {
			w.bad = err
		}
	}
}

var errNoPermits = bad("Permits is an option of a semaphore, and not of a lock")

// Acquire takes permits, waiting for them as long as ctx and [Wait] allow. The queue is strict: small
// requests do not overtake a large request at its head. With [Lease] the permits are free again after that
// time.
//
// Each call takes permits of its own: a semaphore is not reentrant. The server finds deadlocks between the
// locks of a task ([Client.Task]) and its first permits of each semaphore.
//
// The errors are those of [Client.Lock]. If the semaphore has another limit, the error is a [ReplyError] that
// begins with LIMITMISMATCH.
func (s Semaphore) Acquire(ctx context.Context, options ...Option) (*Permit, error) {
	return s.acquire(ctx, s.wish(), options)
}

// TryAcquire is [Semaphore.Acquire] without waiting.
func (s Semaphore) TryAcquire(ctx context.Context, options ...Option) (*Permit, error) {
	w := s.wish()
	w.tries = true
	return s.acquire(ctx, w, options)
}

func (s Semaphore) wish() wish {
	return wish{keys: []string{s.key}, semaphore: true, permits: 1, limit: s.limit, initial: s.initial}
}

func (s Semaphore) acquire(ctx context.Context, w wish, options []Option) (*Permit, error) {
	l, err := s.client.acquire(ctx, w, options)
	if err != nil {
		return nil, err
	}
	return &Permit{l}, nil
}

// Resize sets the limit of the semaphore. Holders keep their permits. changed is false if there is no
// semaphore: the limit of the next Acquire is used then. Programs that still give the old limit are refused,
// unless they use [Semaphore.Initial].
func (s Semaphore) Resize(ctx context.Context, limit int) (changed bool, err error) {
	if err := cmp.Or(named("a key", s.key), atLeast(1, "a limit", limit)); err != nil {
		return false, err
	}
	n, err := s.client.number(ctx, []string{"SEM.RESIZE", s.key, strconv.Itoa(limit)})
	return n == 1, err
}

// Permit is one or more permits of a semaphore that are held. Its methods may be called from any goroutine.
type Permit struct{ lock *Lock }

// Context is derived from the context that the permits were acquired with. It ends when they are lost or
// released: context.Cause is a [*LostError] or [ErrReleased] then.
func (p *Permit) Context() context.Context { return p.lock.Context() }

// Token is the fencing token of this holder.
func (p *Permit) Token() int64 { return p.lock.Token() }

// Owner is the name of the holder on the server.
func (p *Permit) Owner() string { return p.lock.Owner() }

// Guard runs a command only if the permits are still held at that moment: see [Lock.Guard].
func (p *Permit) Guard(ctx context.Context, args ...any) (any, error) {
	return p.lock.Guard(ctx, args...)
}

// Renew sets the end of permits with a [Lease] to d from now: see [Lock.Renew].
func (p *Permit) Renew(ctx context.Context, d time.Duration) error { return p.lock.Renew(ctx, d) }

// Remaining returns how long the client knows the permits to be held: see [Lock.Remaining].
func (p *Permit) Remaining() time.Duration { return p.lock.Remaining() }

// Release gives the permits back. Its errors and limits are those of [Lock.Unlock].
func (p *Permit) Release(ctx context.Context) error { return p.lock.Unlock(ctx) }

// String returns a text for logs.
func (p *Permit) String() string {
	return fmt.Sprintf("%d permits of %q of %s (token %d)", p.lock.held.hold.permits, p.lock.held.keys[0], p.Owner(), p.Token())
}

// releaseWords returns the command that gives all permits of a holder back. It may be sent several times.
func releaseWords(key, owner string, token int64) []string {
	return []string{"SEM.RELEASE", key, owner, "TOKEN", strconv.FormatInt(token, 10)}
}

// backWords returns the commands that give a grant back if it is not known whether it is a lock or permits.
// The command of the wrong kind fails or does nothing.
func backWords(keys []string, many bool, owner string, tokens []int64) [][]string {
	commands := [][]string{unlockWords(keys, many, owner, tokens)}
	if !many {
		commands = append(commands, releaseWords(keys[0], owner, tokens[0]))
	}
	return commands
}

// renewalOf returns the command that renews the lease of a lock or of permits.
func renewalOf(permits int) string {
	if permits > 0 {
		return "SEM.RENEW"
	}
	return "RENEW"
}
