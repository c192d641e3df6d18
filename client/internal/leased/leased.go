// Package leased has locks that end with a lease and are known by a caller's value, as redsync and redislock
// have them. Both drop-in forms are built upon it.
//
// A lock's owner is "<family>:<random>:<number>=<value>". The value is enough to find the holder, so a
// program may release a lock that another one has taken. Waiters are in the server's queue.
//
// The package owns one connection for each library client that locks are taken by. The connection is made
// when it is needed first, and ends when no lock was held and no call was made for a while. A drop-in form
// cannot be closed, because the packages that it replaces cannot be.
package leased

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockserver/client"
	"lockserver/client/internal/strict"
)

var (
	// ErrTaken says that another value has the lock.
	ErrTaken = errors.New("another value has the lock")
	// ErrGone says that no value has the lock.
	ErrGone = errors.New("the lock is free")

	errPatience = errors.New("the time for waiting is over")
)

// Locks are those that are taken by one client of a library.
type Locks struct {
	family  string // begins the owners' names
	library any    // a *redis.Client, a *redis.ClusterClient or a client.Server
}

// By returns the locks of a family by a client of a library: a *redis.Client, a *redis.ClusterClient, or any
// client.Server. Other types are an error of each call.
func By(family string, library any) Locks { return Locks{family, library} }

// connect makes the package's own client.
func (l Locks) connect() (*client.Client, error) {
	settings := []client.Setting{client.Name(l.family), client.Logger(nil)} // the end of a lease is no news here
	switch library := l.library.(type) {
	case *redis.Client:
		return client.New(library, settings...)
	case *redis.ClusterClient:
		return client.NewCluster(library, settings...)
	case client.Server:
		return client.NewWith(library, settings...)
	}
	return nil, l.refused()
}

// refused is the error of a client of another type.
func (l Locks) refused() error {
	return fmt.Errorf("%s: locks cannot be taken by a %T, but by a *redis.Client or a *redis.ClusterClient", l.family, l.library)
}

// Do sends a command. A null is nil; an error reply is an error of the library.
func (l Locks) Do(ctx context.Context, args ...any) (any, error) {
	var by interface {
		Do(ctx context.Context, args ...any) *redis.Cmd
	}
	switch library := l.library.(type) {
	case client.Server:
		return library.Do(ctx, args...)
	case *redis.Client:
		by = library
	case *redis.ClusterClient:
		by = library
	default:
		return nil, l.refused()
	}
	reply, err := by.Do(ctx, args...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

// Wish is a lock that is asked for.
type Wish struct {
	Key, Value string
	Known      string // a holder with a value that begins with it is replaced; empty: no holder is
	Lease      time.Duration
	// Answer bounds how long the server may take to say whether the lock is free; 0: the client's timeout
	// does.
	Answer time.Duration
	// Pause returns for how long the call is to wait further, and is called again when that is over; 0 or
	// less ends the wait. Nil: the call does not wait. The goroutine that calls it may be another one, but
	// none does after the end of Acquire.
	Pause func() time.Duration
}

// Acquire takes a lock, and returns for how long its value has it for certain. It waits in the queue. While
// the key is a string, as the replaced packages lock, there is no queue: Acquire tries again after each
// pause. It fails with ErrTaken, and at the end of ctx with ctx.Err().
func (l Locks) Acquire(ctx context.Context, w Wish) (time.Duration, error) {
	if w.Lease < time.Millisecond { // whatever becomes of ctx
		return 0, fmt.Errorf("%w: a lease of %v is less than a millisecond", client.ErrValue, w.Lease)
	}
	s, err := l.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer s.leave()
	for {
		lock, err := s.try(ctx, w)
		if isTaken(err) && w.Known != "" {
			if left, err := s.takeOver(ctx, w); !errors.Is(err, ErrTaken) {
				return left, err
			}
		}
		if isTaken(err) && w.Pause != nil {
			switch first := w.Pause(); {
			case first <= 0:
			case isString(err):
				select {
				case <-time.After(first):
					continue
				case <-ctx.Done():
				}
			default:
				lock, err = s.wait(ctx, w, first)
			}
		}
		switch {
		case err == nil:
			s.claim(w.Key, w.Value, lock)
			return lock.Remaining(), nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case isTaken(err) || errors.Is(err, errPatience):
			return 0, ErrTaken
		}
		return 0, err
	}
}

// options are those of a call of the client.
func (w *Wish) options() []client.Option {
	return []client.Option{client.Lease(w.Lease), client.Value(w.Value)}
}

// try takes the lock if it is free.
func (s *server) try(ctx context.Context, w Wish) (*client.Lock, error) {
	if w.Answer > 0 {
		limited, cancel := context.WithTimeout(ctx, w.Answer)
		defer cancel()
		ctx = limited
	}
	return s.client.TryLock(ctx, w.Key, w.options()...)
}

// wait waits in the queue, for a first pause and those after it.
func (s *server) wait(ctx context.Context, w Wish, first time.Duration) (*client.Lock, error) {
	waits, stop := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for d := first; d > 0; d = w.Pause() {
			select {
			case <-time.After(d):
			case <-waits.Done():
				return
			}
		}
		stop(errPatience)
	}()
	lock, err := s.client.Lock(waits, w.Key, w.options()...)
	stop(nil)
	<-over // Pause is the caller's
	return lock, err
}

// Release ends the hold of a value, by whichever program it was taken: nil if it was held, ErrGone or
// ErrTaken.
func (l Locks) Release(ctx context.Context, key, value string) error {
	s, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer s.leave()
	if lock := s.claimed(key, value); lock != nil {
		s.claim(key, value, nil)
		if err := lock.Unlock(strict.Unlock(ctx)); !isOver(err) {
			return err
		}
	}
	h, err := s.find(ctx, key, value)
	if err != nil {
		return err
	}
	reply, err := l.Do(ctx, "UNLOCK", key, h.Owner, "TOKEN", h.Token)
	if err == nil && reply == nil {
		return ErrGone
	}
	return err
}

// Renew has the hold of a value last for a lease from now, by whichever program it was taken. It returns for
// how long the value has the lock for certain, or ErrGone or ErrTaken.
func (l Locks) Renew(ctx context.Context, key, value string, lease time.Duration) (time.Duration, error) {
	s, err := l.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer s.leave()
	if lock := s.claimed(key, value); lock != nil {
		if err := lock.Renew(ctx, lease); !isOver(err) {
			return lock.Remaining(), err
		}
	}
	h, err := s.find(ctx, key, value)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	reply, err := l.Do(ctx, "RENEW", key, h.Owner, "PX", lease.Milliseconds(), "TOKEN", h.Token)
	if err == nil && reply != int64(1) {
		err = ErrGone
	}
	return lease - time.Since(began), err
}

// Remaining is for how long the server lets a value have the lock; ErrGone or ErrTaken if it has not.
func (l Locks) Remaining(ctx context.Context, key, value string) (time.Duration, error) {
	s, err := l.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer s.leave()
	h, err := s.find(ctx, key, value)
	return h.Remaining, err
}

// ValueOf is the value that has the lock, or the string at key; "": neither.
func (l Locks) ValueOf(ctx context.Context, key string) (string, error) {
	s, err := l.enter(ctx)
	if err != nil {
		return "", err
	}
	defer s.leave()
	info, _, err := s.client.Info(ctx, key)
	if isString(err) {
		reply, err := l.Do(ctx, "GET", key)
		text, _ := reply.(string)
		return text, err
	}
	for _, h := range info.Holders {
		if value, ok := l.valueIn(h.Owner); ok {
			return value, nil
		}
	}
	return "", err
}

// find asks the server for the hold of a value.
func (s *server) find(ctx context.Context, key, value string) (client.Holder, error) {
	return s.findBy(ctx, key, func(has string) bool { return has == value })
}

func (s *server) findBy(ctx context.Context, key string, is func(value string) bool) (client.Holder, error) {
	info, ok, err := s.client.Info(ctx, key)
	switch {
	case isString(err):
		return client.Holder{}, ErrTaken
	case err != nil:
		return client.Holder{}, err
	case !ok || len(info.Holders) == 0:
		return client.Holder{}, ErrGone
	}
	for _, h := range info.Holders {
		if value, ours := s.locks.valueIn(h.Owner); ours && is(value) {
			return h, nil
		}
	}
	return client.Holder{}, ErrTaken
}

// valueIn is the value in an owner's name; false: the owner is of another family.
func (l Locks) valueIn(owner string) (value string, ours bool) {
	if !strings.HasPrefix(owner, l.family+":") {
		return "", false
	}
	_, value, ours = strings.Cut(owner, "=")
	return value, ours
}

// handOver gives the lock of one owner to another one, in one step: no waiter can come between.
const handOver = `if redis.call('UNLOCK', KEYS[1], ARGV[1], 'TOKEN', ARGV[2]) then
	return redis.call('LOCK', KEYS[1], ARGV[3], 'PX', ARGV[4], 'ONCE')
end`

// takeOver takes the lock from a holder with a value that begins with Known, or fails with ErrTaken.
func (s *server) takeOver(ctx context.Context, w Wish) (time.Duration, error) {
	h, err := s.findBy(ctx, w.Key, func(has string) bool { return strings.HasPrefix(has, w.Known) })
	if errors.Is(err, ErrGone) {
		err = ErrTaken // it was a moment ago
	}
	if err != nil {
		return 0, err
	}
	began := time.Now()
	owner := s.locks.family + ":" + strings.ToLower(rand.Text()[:16]) + ":0=" + w.Value
	reply, err := s.locks.Do(ctx, "EVAL", handOver, 1, w.Key, h.Owner, h.Token, owner, w.Lease.Milliseconds())
	if err == nil && reply == nil {
		err = ErrTaken
	}
	return w.Lease - time.Since(began), err
}

// isTaken reports whether a lock is held, by LOCK or as a string.
func isTaken(err error) bool { return errors.Is(err, client.ErrNotAcquired) || isString(err) }

// isString reports whether a key is a string, as the replaced packages lock.
func isString(err error) bool {
	var reply client.ReplyError
	return errors.As(err, &reply) && strings.HasPrefix(string(reply), "WRONGTYPE")
}

// isOver reports whether this client does not have a lock any more: the server may know better.
func isOver(err error) bool {
	return isString(err) || errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrReleased) || errors.Is(err, client.ErrClosed)
}
