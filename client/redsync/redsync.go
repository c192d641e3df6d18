// Package redsync has the interface of github.com/go-redsync/redsync/v4, on locks of a lockserver. A program
// changes its imports, and nothing else. That package's own tests pass on this one.
//
//	rs := redsync.New(goredis.NewPool(rdb)) // lockserver/client/redsync/redis/goredis/v9
//	mutex := rs.NewMutex("order:42")
//	if err := mutex.Lock(); err != nil {
//		return err
//	}
//	defer mutex.Unlock()
//
// With one server a call waits in the server's queue, as long as all attempts would have taken, and gets the
// lock in its turn. With several a majority decides, as in the original. The locks are native ones, with
// fencing tokens, which LOCK.INFO shows. Programs with the original and with this keep each other out.
package redsync

import (
	"crypto/rand"
	"encoding/base64"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"lockserver/client/redsync/redis"
)

// Redsync makes mutexes on some servers.
type Redsync struct{ pools []redis.Pool }

// New returns a Redsync on the servers of these pools.
func New(pools ...redis.Pool) *Redsync { return &Redsync{pools} }

// NewMutex returns a mutex on the key name. Nothing is sent yet.
func (r *Redsync) NewMutex(name string, options ...Option) *Mutex {
	m := &Mutex{
		name: name, expiry: 8 * time.Second, tries: 32, delayFunc: anyDelay, genValueFunc: genValue,
		driftFactor: 0.01, timeoutFactor: 0.05, quorum: len(r.pools)/2 + 1, pools: r.pools,
	}
	for _, o := range options {
		o.Apply(m)
	}
	if m.shuffle {
		m.pools = slices.Clone(m.pools)
		mathrand.Shuffle(len(m.pools), func(i, j int) { m.pools[i], m.pools[j] = m.pools[j], m.pools[i] })
	}
	return m
}

// anyDelay is between 50 and 250 ms.
func anyDelay(int) time.Duration { return 50*time.Millisecond + mathrand.N(200*time.Millisecond) }

func genValue() (string, error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return base64.StdEncoding.EncodeToString(random[:]), nil
}

// Option is a part of how a mutex is.
type Option interface{ Apply(*Mutex) }

// OptionFunc is an Option that is a function.
type OptionFunc func(*Mutex)

// Apply implements Option.
func (f OptionFunc) Apply(mutex *Mutex) { f(mutex) }

// WithExpiry sets the lease, 8 s without it.
func WithExpiry(expiry time.Duration) Option { return OptionFunc(func(m *Mutex) { m.expiry = expiry }) }

// WithTries sets the number of attempts, 32 without it. With one server Lock waits for all pauses between
// them.
func WithTries(tries int) Option { return OptionFunc(func(m *Mutex) { m.tries = tries }) }

// WithRetryDelay sets the pause between two attempts, 50 to 250 ms by chance without it.
func WithRetryDelay(delay time.Duration) Option {
	return WithRetryDelayFunc(func(int) time.Duration { return delay })
}

// WithRetryDelayFunc sets the pause before each attempt but the first.
func WithRetryDelayFunc(delayFunc DelayFunc) Option {
	return OptionFunc(func(m *Mutex) { m.delayFunc = delayFunc })
}

// WithSetNXOnExtend has Extend take the lock anew if it is free.
func WithSetNXOnExtend() Option { return OptionFunc(func(m *Mutex) { m.setNXOnExtend = true }) }

// WithDriftFactor sets the part of the lease by which clocks may differ, 0.01 without it.
func WithDriftFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) { m.driftFactor = factor })
}

// WithTimeoutFactor sets the part of the lease for which a server may be silent, 0.05 without it.
func WithTimeoutFactor(factor float64) Option {
	return OptionFunc(func(m *Mutex) { m.timeoutFactor = factor })
}

// WithGenValueFunc sets where values come from. Each lock needs another one.
func WithGenValueFunc(genValueFunc func() (string, error)) Option {
	return OptionFunc(func(m *Mutex) { m.genValueFunc = genValueFunc })
}

// WithValue sets the value of a lock that another mutex has, so that this one can extend and unlock it.
func WithValue(v string) Option { return OptionFunc(func(m *Mutex) { m.value = v }) }

// WithFailFast has calls return when a majority has answered.
func WithFailFast(b bool) Option { return OptionFunc(func(m *Mutex) { m.failFast = b }) }

// WithShufflePools has the mutex use the pools in an order by chance.
func WithShufflePools(b bool) Option { return OptionFunc(func(m *Mutex) { m.shuffle = b }) }
