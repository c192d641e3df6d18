// Package redislock has the interface of github.com/bsm/redislock, on locks of a lockserver. A program
// changes its import, and nothing else. That package's own tests pass on this one.
//
//	lock, err := redislock.Obtain(ctx, rdb, "order:42", time.Minute, nil)
//
// A call with a [RetryStrategy] waits in the server's queue, for as long as the strategy says, and gets the
// lock in its turn. The lock is a native one, with a fencing token, which LOCK.INFO shows. Programs with the
// original and with this keep each other out.
//
// The client must be a *redis.Client or a *redis.ClusterClient. There is a connection of the package's own
// for each, while locks are held or waited for.
package redislock

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client/internal/leased"
)

var (
	// ErrNotObtained says that another one holds the lock, or that a lock to be refreshed is not held.
	ErrNotObtained = errors.New("redislock: not obtained")
	// ErrLockNotHeld says that a lock to be released is not held.
	ErrLockNotHeld = errors.New("redislock: lock not held")
)

// RedisClient is a *redis.Client or a *redis.ClusterClient. With another one each call returns an error.
type RedisClient interface {
	redis.Scripter
}

// Client takes locks by a client of go-redis.
type Client struct{ locks leased.Locks }

// New returns a Client. Nothing is sent yet.
func New(client RedisClient) *Client { return &Client{leased.By("redislock", client)} }

// Obtain is New(client).Obtain. Calls with one client share a connection.
func Obtain(ctx context.Context, client RedisClient, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	return New(client).Obtain(ctx, key, ttl, opt)
}

// Obtain takes the lock at key for ttl, whole milliseconds of it. It fails with [ErrNotObtained] if another
// one has the lock until the [RetryStrategy] says no more. Without a deadline of ctx that is after ttl at
// the latest, with context.DeadlineExceeded. opt may be nil.
//
// A lock with the given [Options.Token] is obtained again: then both hold it.
func (c *Client) Obtain(ctx context.Context, key string, ttl time.Duration, opt *Options) (*Lock, error) {
	if opt == nil {
		opt = &Options{}
	}
	token := opt.Token
	if token == "" {
		var random [16]byte
		_, _ = rand.Read(random[:]) // never fails
		token = base64.RawURLEncoding.EncodeToString(random[:])
	}
	retry := opt.RetryStrategy
	if retry == nil {
		retry = NoRetry()
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ttl)
		defer cancel()
	}
	_, err := c.locks.Acquire(ctx, leased.Wish{Key: key, Value: token + opt.Metadata, Known: opt.Token, Lease: ttl, Pause: retry.NextBackoff})
	switch {
	case errors.Is(err, leased.ErrTaken):
		return nil, ErrNotObtained
	case err != nil:
		return nil, err
	}
	return &Lock{Client: c, key: key, value: token + opt.Metadata, tokenLen: len(token)}, nil
}

// Lock is a lock that was obtained.
type Lock struct {
	*Client
	key      string
	value    string
	tokenLen int
}

// Key is the key of the lock.
func (l *Lock) Key() string { return l.key }

// Token is the token that the lock was obtained with.
func (l *Lock) Token() string { return l.value[:l.tokenLen] }

// Metadata returns the text that the lock was obtained with. LOCK.INFO shows it in the owner's name, behind
// the token.
func (l *Lock) Metadata() string { return l.value[l.tokenLen:] }

// TTL is the time until the lock ends; 0: it has.
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	left, err := l.locks.Remaining(ctx, l.key, l.value)
	if isOver(err) {
		return 0, nil
	}
	return left, err
}

// Refresh has the lock end after ttl from now. It fails with [ErrNotObtained] if the lock is not held any
// more. opt has no meaning, as in the original.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration, opt *Options) error {
	_, err := l.locks.Renew(ctx, l.key, l.value, ttl)
	if isOver(err) {
		return ErrNotObtained
	}
	return err
}

// Release ends the lock. It fails with [ErrLockNotHeld] if the lock is not held any more, or is nil.
func (l *Lock) Release(ctx context.Context) error {
	if l == nil {
		return ErrLockNotHeld
	}
	err := l.locks.Release(ctx, l.key, l.value)
	if isOver(err) {
		return ErrLockNotHeld
	}
	return err
}

// isOver reports whether a lock is free, or another one's.
func isOver(err error) bool { return errors.Is(err, leased.ErrTaken) || errors.Is(err, leased.ErrGone) }

// Options are those of a lock. The zero value has no retry, no metadata, and a token by chance.
type Options struct {
	// RetryStrategy says how long Obtain waits: until the sum of its pauses is over. Nil: not at all.
	RetryStrategy RetryStrategy
	// Metadata is a text that the lock carries.
	Metadata string
	// Token names the lock. A caller with the same token obtains the lock again.
	Token string
}
