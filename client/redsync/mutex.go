package redsync

import (
	"context"
	"errors"
	"time"

	"lockserver/client/internal/leased"
	"lockserver/client/redsync/redis"
)

// DelayFunc says how long the pause before an attempt is; tries is its number, from 1 on.
type DelayFunc func(tries int) time.Duration

// Mutex is a lock on a majority of servers. It is for one goroutine at a time.
type Mutex struct {
	name   string
	expiry time.Duration

	tries     int
	delayFunc DelayFunc

	driftFactor   float64
	timeoutFactor float64

	quorum int

	genValueFunc  func() (string, error)
	value         string
	until         time.Time
	shuffle       bool
	failFast      bool
	setNXOnExtend bool

	pools []redis.Pool
}

// Name is the key of the lock.
func (m *Mutex) Name() string { return m.name }

// Value is the value that the lock was taken with; "": it was not, and there was no [WithValue].
func (m *Mutex) Value() string { return m.value }

// Until is the time until which the lock is held for certain; zero: it was not taken.
func (m *Mutex) Until() time.Time { return m.until }

// TryLock is [Mutex.TryLockContext] without a context.
func (m *Mutex) TryLock() error { return m.TryLockContext(context.Background()) }

// TryLockContext takes the lock, or fails with an [*ErrTaken] at once.
func (m *Mutex) TryLockContext(ctx context.Context) error { return m.lockContext(ctx, 1) }

// Lock is [Mutex.LockContext] without a context.
func (m *Mutex) Lock() error { return m.LockContext(context.Background()) }

// LockContext takes the lock. It waits as long as [WithTries] and the delays say, and fails with an
// [*ErrTaken] then. It fails with [ErrFailed] when the context ends, and with a [*RedisError] for each server
// that could not be asked.
func (m *Mutex) LockContext(ctx context.Context) error { return m.lockContext(ctx, m.tries) }

func (m *Mutex) lockContext(ctx context.Context, tries int) error {
	if ctx == nil {
		ctx = context.Background()
	}
	value, err := m.genValueFunc()
	if err != nil {
		return err
	}
	if len(m.pools) == 1 {
		return m.lockAlone(ctx, tries, value)
	}
	for i := range tries {
		if i != 0 {
			select {
			case <-ctx.Done():
				return ErrFailed
			case <-time.After(m.delayFunc(i)):
			}
		}
		n, left, err := m.limited(ctx, func(ctx context.Context, on leased.Locks) (time.Duration, error) {
			return on.Acquire(ctx, m.wish(value, nil))
		})
		if m.isHeld(n, left, value) {
			return nil
		}
		_, _, _ = m.limited(ctx, func(ctx context.Context, on leased.Locks) (time.Duration, error) {
			return 0, on.Release(ctx, m.name, value)
		})
		if i == tries-1 && err != nil {
			return err
		}
	}
	return ErrFailed
}

// lockAlone takes the lock on the only server. Its queue stands for the attempts.
func (m *Mutex) lockAlone(ctx context.Context, tries int, value string) error {
	next := 0
	pause := func() time.Duration {
		if next++; next >= tries {
			return 0
		}
		return max(m.delayFunc(next), 1) // 0 would end the wait
	}
	n, left, err := m.onPools(func(on leased.Locks) (time.Duration, error) {
		return on.Acquire(ctx, m.wish(value, pause))
	})
	switch {
	case m.isHeld(n, left, value):
		return nil
	case n > 0:
		_, _ = m.release(ctx, value)
		return ErrFailed
	case ctx.Err() != nil:
		return ErrFailed
	}
	return err
}

func (m *Mutex) wish(value string, pause func() time.Duration) leased.Wish {
	return leased.Wish{Key: m.name, Value: value, Lease: m.expiry, Answer: m.part(m.timeoutFactor), Pause: pause}
}

// isHeld records that n servers have given the lock, for left at least; false: that is no majority, or too
// late.
func (m *Mutex) isHeld(n int, left time.Duration, value string) bool {
	until := time.Now().Add(left - m.part(m.driftFactor))
	if n < m.quorum || !time.Now().Before(until) {
		return false
	}
	m.value, m.until = value, until
	return true
}

// part is a part of the lease.
func (m *Mutex) part(factor float64) time.Duration { return time.Duration(float64(m.expiry) * factor) }

// Unlock is [Mutex.UnlockContext] without a context.
func (m *Mutex) Unlock() (bool, error) { return m.UnlockContext(context.Background()) }

// UnlockContext releases the lock, and reports whether a majority had it. Errors: [ErrLockAlreadyExpired],
// [*ErrTaken], [*ErrNodeTaken] and [*RedisError] for each server, joined.
func (m *Mutex) UnlockContext(ctx context.Context) (bool, error) {
	n, err := m.release(ctx, m.value)
	if n < m.quorum {
		return false, err
	}
	return true, nil
}

func (m *Mutex) release(ctx context.Context, value string) (int, error) {
	n, _, err := m.onPools(func(on leased.Locks) (time.Duration, error) {
		err := on.Release(ctx, m.name, value)
		if errors.Is(err, leased.ErrGone) {
			err = ErrLockAlreadyExpired
		}
		return 0, err
	})
	return n, err
}

// Extend is [Mutex.ExtendContext] without a context.
func (m *Mutex) Extend() (bool, error) { return m.ExtendContext(context.Background()) }

// ExtendContext has a new lease begin, and reports whether a majority has the lock. It fails with
// [ErrExtendFailed] if the answers came too late; otherwise as UnlockContext does.
func (m *Mutex) ExtendContext(ctx context.Context) (bool, error) {
	n, left, err := m.onPools(func(on leased.Locks) (time.Duration, error) {
		left, err := on.Renew(ctx, m.name, m.value, m.expiry)
		if errors.Is(err, leased.ErrGone) && m.setNXOnExtend {
			return on.Acquire(ctx, m.wish(m.value, nil))
		}
		return left, err
	})
	switch {
	case n < m.quorum:
		return false, err
	case !m.isHeld(n, left, m.value):
		return false, ErrExtendFailed
	}
	return true, nil
}

// Valid is [Mutex.ValidContext] without a context.
//
// Deprecated: use Until, as in the original.
func (m *Mutex) Valid() (bool, error) { return m.ValidContext(context.Background()) }

// ValidContext reports whether a majority has the lock.
//
// Deprecated: use Until, as in the original.
func (m *Mutex) ValidContext(ctx context.Context) (bool, error) {
	n, _, err := m.onPools(func(on leased.Locks) (time.Duration, error) {
		return on.Remaining(ctx, m.name, m.value)
	})
	return n >= m.quorum, err
}

// limited is onPools for a part of the lease.
func (m *Mutex) limited(ctx context.Context, act func(context.Context, leased.Locks) (time.Duration, error)) (int, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, m.part(m.timeoutFactor))
	defer cancel()
	return m.onPools(func(on leased.Locks) (time.Duration, error) { return act(ctx, on) })
}

// answer holds the outcome on one server.
type answer struct {
	node int
	left time.Duration
	err  error
}

// onPools does something on all servers at once. It returns how many have done it, and the shortest time that
// they gave.
func (m *Mutex) onPools(act func(leased.Locks) (time.Duration, error)) (n int, left time.Duration, err error) {
	answers := make(chan answer, len(m.pools))
	for node, pool := range m.pools {
		go func() {
			a := answer{node: node}
			on, err := locksOf(pool)
			if a.err = err; err == nil {
				a.left, a.err = act(on)
			}
			answers <- a
		}()
	}
	var taken []int
	left = m.expiry
	for range m.pools {
		a := <-answers
		switch {
		case a.err == nil:
			n++
			left = min(left, a.left)
		case errors.Is(a.err, ErrLockAlreadyExpired):
			err = errors.Join(err, ErrLockAlreadyExpired)
		case errors.Is(a.err, leased.ErrTaken), errors.Is(a.err, leased.ErrGone):
			taken = append(taken, a.node)
			err = errors.Join(err, &ErrNodeTaken{Node: a.node})
		default:
			err = errors.Join(err, &RedisError{Node: a.node, Err: a.err})
		}
		if m.failFast && (n >= m.quorum || len(taken) >= m.quorum) {
			break
		}
	}
	if len(taken) >= m.quorum {
		return n, left, &ErrTaken{Nodes: taken}
	}
	return n, left, err
}

// locksOf are the locks on the server of a pool.
func locksOf(p redis.Pool) (leased.Locks, error) {
	ours, ok := p.(interface{ Of() leased.Locks })
	if !ok {
		return leased.Locks{}, errors.New("the pool is of another package: see lockserver/client/redsync/redis")
	}
	return ours.Of(), nil
}
