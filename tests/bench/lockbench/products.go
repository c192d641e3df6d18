package lockbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// leaseMS is so long that no lease ends in a measurement.
const leaseMS = 30_000

// product is a way to lock.
type product struct {
	name   string
	native bool // a command of the server, not a library with scripts
	// a description of how it waits, for the report
	waits string
	enter func(client *redis.Client, key, owner string) contender
}

// products returns the products in the order of the comparison. Targets compare the first with the second.
func products() []product {
	return []product{
		{"LOCK ... WAIT 0", true, "in the server's queue", newNative},
		{"redsync " + versionOf("github.com/go-redsync/redsync/v4"), false, "its defaults: asks again after 50 to 250 ms at random, and after 32 tries gives up; it is then called again",
			newRedsync},
		{"redislock " + versionOf("github.com/bsm/redislock"), false, "LinearBackoff(100 ms), as in its documentation's example; its default is not to wait", newRedislock},
	}
}

// versionOf returns the version of a module in this program, or "" if the build does not have it.
func versionOf(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return ""
}

// connect opens the connection of a contender. Commands are not sent again after a network error, because
// that could acquire a lock twice. A reply may take as long as a wait.
func connect(dial func() (net.Conn, error)) *redis.Client {
	return redis.NewClient(&redis.Options{
		Dialer:   func(context.Context, string, string) (net.Conn, error) { return dial() },
		PoolSize: 1, MinIdleConns: 1, MaxRetries: -1, ReadTimeout: -1, Protocol: 2, DisableIdentity: true,
	})
}

// counter is the common part of the contenders: the connection, and the number that the lock guards.
type counter struct {
	client *redis.Client
	key    string // key of the lock
	count  string // key of the number
}

func newCounter(client *redis.Client, key string) counter {
	return counter{client, key, key + ":count"}
}

func (c counter) read(ctx context.Context) (int64, error) {
	n, err := c.client.Get(ctx, c.count).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, err
}

func (c counter) write(ctx context.Context, n int64) error {
	return c.client.Set(ctx, c.count, n, 0).Err()
}

func (c counter) close() { _ = c.client.Close() }

// native uses LOCK and UNLOCK.
type native struct {
	counter
	owner string
}

func newNative(client *redis.Client, key, owner string) contender {
	return &native{newCounter(client, key), owner}
}

func (n *native) acquire(ctx context.Context) error {
	// The wait is not cut short: the server would have to take back a lock without a reader of the grant.
	return n.client.Do(context.WithoutCancel(ctx), "LOCK", n.key, n.owner, "PX", leaseMS, "WAIT", 0).Err()
}

func (n *native) release(ctx context.Context) error {
	left, err := n.client.Do(ctx, "UNLOCK", n.key, n.owner).Int64()
	if err == nil && left != 1 {
		err = fmt.Errorf("UNLOCK answered %d", left)
	}
	return err
}

// viaRedsync uses a mutex of redsync on one server.
type viaRedsync struct {
	counter
	mutex *redsync.Mutex
}

func newRedsync(client *redis.Client, key, _ string) contender {
	return &viaRedsync{newCounter(client, key), redsync.New(goredis.NewPool(client)).NewMutex(key)}
}

func (r *viaRedsync) acquire(ctx context.Context) error {
	for {
		err := r.mutex.LockContext(ctx)
		var taken *redsync.ErrTaken
		if err == nil || ctx.Err() != nil || !errors.As(err, &taken) && !errors.Is(err, redsync.ErrFailed) {
			return err
		}
	}
}

func (r *viaRedsync) release(ctx context.Context) error {
	ok, err := r.mutex.UnlockContext(ctx)
	if err == nil && !ok {
		err = errors.New("redsync: the lock was no longer held")
	}
	return err
}

// viaRedislock uses a lock of redislock.
type viaRedislock struct {
	counter
	locks *redislock.Client
	held  *redislock.Lock
}

func newRedislock(client *redis.Client, key, _ string) contender {
	return &viaRedislock{counter: newCounter(client, key), locks: redislock.New(client)}
}

func (r *viaRedislock) acquire(ctx context.Context) (err error) {
	r.held, err = r.locks.Obtain(ctx, r.key, leaseMS*time.Millisecond,
		&redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	return err
}

func (r *viaRedislock) release(ctx context.Context) error { return r.held.Release(ctx) }

// ownerOf returns the name of client i, which is as long as those of libraries.
func ownerOf(i int) string { return "5b1f0d6e-7a94-4c0b-9a3e-2f6f4f0c8d11:" + strconv.Itoa(i) }
