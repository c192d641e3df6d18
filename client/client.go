package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client takes locks and buys at sales on one server. Its methods may be called from any goroutine. One for
// a program, or for each server that it uses, is enough.
type Client struct {
	server Server
	name   string // begins the owners' names; unlike that of any other client
	hooks  []Hooks
	logger *slog.Logger  // nil: the default one
	limit  time.Duration // of a call that waits for an answer and not for a lock
	keeper *keeper
}

// Setting is a part of how a [Client] is.
type Setting func(*Client)

// Name begins the names of the owners, which operators see: "billing" gives "billing:<random>:<number>".
// Without it the name of the connection and the owners is "lock".
func Name(name string) Setting { return func(c *Client) { c.name = name } }

// Timeout bounds how long a call waits for answers of the server, all attempts together: 5 s without it.
// The time that [Client.Lock] waits for another holder does not count: see there.
func Timeout(d time.Duration) Setting { return func(c *Client) { c.limit = d } }

// defaultLimit is the Timeout of a client that was given none.
const defaultLimit = 5 * time.Second

// Hooks are called with events of locks, for metrics and logs. Each may be nil; they are called by goroutines
// of the client and must return soon.
type Hooks struct {
	// Acquired: a lock was had, after so long.
	Acquired func(key string, waited time.Duration)
	// Refused: it was not, after so long, for that reason.
	Refused func(key string, waited time.Duration, err error)
	// Released: it was unlocked, having been held for so long.
	Released func(key string, held time.Duration)
	// Lost: it was lost.
	Lost func(lost *LostError)
	// Connected: the client's own connection is there (nil), or was lost (why), at last by Close
	// ([ErrClosed]).
	Connected func(err error)
	// Begin: a call for locks or permits begins. The Call that it returns observes that one.
	Begin func(ctx context.Context, keys []string) Call
}

// Call observes one call for locks or permits. Its functions may be nil.
type Call struct {
	// Trace is the traceparent that the call is sent with, unless it has one by [Trace]; empty: none.
	Trace string
	// Had: the call has ended, with the lock (nil) or the reason why not.
	Had func(err error)
	// Over: the lock that it had was released ([ErrReleased]) or lost (a [*LostError]).
	Over func(why error)
}

// Observe adds hooks. Those that were set before are called first.
func Observe(hooks Hooks) Setting { return func(c *Client) { c.hooks = append(c.hooks, hooks) } }

// New returns a client that speaks through rdb, which stays the caller's, and says at once if the server
// lacks the native commands ([ErrNotLockserver]) or cannot be reached. It returns within [Timeout].
func New(rdb *redis.Client, settings ...Setting) (*Client, error) {
	if rdb == nil {
		return nil, bad("no client of go-redis")
	}
	return NewWith(goRedis{rdb}, settings...)
}

// NewCluster is [New] for the members of a raft group, which look like a cluster. A
// ClusterStateReloadInterval of a second has go-redis find the next leader soon: it is a minute otherwise. A
// member that is asked before there is one does not answer: the call returns an error, and the caller asks
// again.
func NewCluster(rdb *redis.ClusterClient, settings ...Setting) (*Client, error) {
	if rdb == nil {
		return nil, bad("no client of go-redis")
	}
	return NewWith(goCluster{rdb}, settings...)
}

// NewWith is [New] for any client library.
func NewWith(server Server, settings ...Setting) (*Client, error) {
	if server == nil {
		return nil, bad("no server")
	}
	c := &Client{server: server, name: "lock", limit: defaultLimit}
	for _, set := range settings {
		set(c)
	}
	switch {
	case c.limit <= 0:
		return nil, bad("a timeout of %v is no time", c.limit)
	case c.name == "":
		return nil, bad("a name is empty")
	}
	c.limit = min(c.limit, longest)
	c.name += ":" + strings.ToLower(rand.Text()[:16])
	k, err := newKeeper(c)
	if err != nil {
		return nil, replied(err)
	}
	c.keeper = k
	return c, nil
}

// Close releases what is still held and ends the connections of the client, but not those of the library.
// The locks' contexts end first, by a [*LostError] for which errors.Is(err, ErrClosed) holds, and calls that
// wait for a lock return [ErrClosed], as every later call does. Close returns within [Timeout]. A lock that
// the server has not answered for by then ends with its lease.
func (c *Client) Close() {
	c.keeper.close()
}

// pauses are those between the attempts of a command that may be sent twice.
var pauses = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond}

// again sends a command that may be sent twice until the server has answered, or often enough, or the
// client's limit is over.
func (c *Client) again(ctx context.Context, words []string) (any, error) {
	if c.keeper.isClosed() {
		return nil, ErrClosed
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, ErrNoAnswer)
	defer cancel()
	return c.untilAnswered(limited, words)
}

// untilAnswered is again for a closed client, too, and limited by its context alone.
func (c *Client) untilAnswered(limited context.Context, words []string) (any, error) {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	for attempt := 0; ; attempt++ {
		reply, err := c.once(limited, args)
		if isReply(err) || attempt == len(pauses) || limited.Err() != nil {
			return reply, replied(err)
		}
		select {
		case <-time.After(pauses[attempt]):
		case <-limited.Done():
			return nil, fmt.Errorf("%w: %w", ended(limited), err)
		}
	}
}

// once sends a command by the library, and returns at the end of ctx even if the library does not: go-redis
// reads an answer for as long as its ReadTimeout. The command may still be sent then.
func (c *Client) once(ctx context.Context, args []any) (any, error) {
	came := make(chan answer, 1)
	go func() {
		reply, err := c.server.Do(ctx, args...)
		came <- answer{reply, err}
	}()
	select {
	case a := <-came:
		if a.err != nil && !isReply(a.err) && ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ended(ctx), a.err)
		}
		return a.value, a.err
	case <-ctx.Done():
		return nil, ended(ctx)
	}
}

// ended is why a context has ended. errors.Is holds for it with the context's own error, too: the cause that
// a caller has given alone would hide that it was the deadline. The limits of this package are no
// deadline of the caller's.
func ended(ctx context.Context) error {
	cause, err := context.Cause(ctx), ctx.Err()
	if errors.Is(cause, err) || errors.Is(cause, ErrNotAcquired) || errors.Is(cause, ErrNoAnswer) || errors.Is(cause, ErrClosed) {
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}
