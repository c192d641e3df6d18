package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Client takes locks and buys at sales on one server, or on the shards of one cluster. Its methods may be
// called from any goroutine. A program needs one client for each server or cluster that it uses.
type Client struct {
	server Server
	// cluster is the server if it has several shards; nil: it is one.
	cluster Cluster
	name    string // begins the owners' names; different for each client
	hooks   []Hooks
	logger  *slog.Logger  // nil: the default one
	limit   time.Duration // of a call that waits for an answer, but not for a lock
	keeper  *keeper
}

// Setting is an option of a [Client].
type Setting func(*Client)

// Name begins the names of the owners, which operators see: "billing" gives "billing:<random>:<number>".
// Without it the name of the connection and the owners is "lock".
func Name(name string) Setting { return func(c *Client) { c.name = name } }

// Timeout bounds how long a call waits for answers of the server, all attempts together. The default is 5 s.
// The time that [Client.Lock] waits for another holder does not count: see there.
func Timeout(d time.Duration) Setting { return func(c *Client) { c.limit = d } }

// defaultLimit is the limit of a client without the setting Timeout.
const defaultLimit = 5 * time.Second

// Hooks are called with events of locks, for metrics and logs. Each may be nil; they are called by goroutines
// of the client and must return soon.
type Hooks struct {
	// Acquired: a lock was acquired, after the time waited.
	Acquired func(key string, waited time.Duration)
	// Refused: a lock was not acquired, after the time waited, because of err.
	Refused func(key string, waited time.Duration, err error)
	// Released: a lock was unlocked, after it was held for this time.
	Released func(key string, held time.Duration)
	// Lost: a lock was lost.
	Lost func(lost *LostError)
	// Connected: the client's own connection was made (nil), or was lost (the reason). In a cluster it is nil
	// while the connections of all used shards are there. The last call is that of Close, with [ErrClosed].
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

// Observe adds hooks. Hooks that were set before are called first.
func Observe(hooks Hooks) Setting { return func(c *Client) { c.hooks = append(c.hooks, hooks) } }

// New returns a client that uses rdb. The caller still owns rdb. New fails at once if the server lacks the
// native commands ([ErrNotLockserver]) or cannot be reached. It returns within [Timeout].
func New(rdb *redis.Client, settings ...Setting) (*Client, error) {
	if rdb == nil {
		return nil, bad("no client of go-redis")
	}
	return NewWith(goRedis{rdb}, settings...)
}

// NewCluster is [New] for a cluster: several shards, a server with cluster-enabled, or the members of a raft
// group, which look like one. The client has a connection of its own to each shard that it uses, and asks
// again where it is redirected. A shard that cannot be reached loses the locks of that shard, and no other
// ones. Keys that are locked together need one slot ([ErrCrossSlot]), and deadlocks are found within a shard.
//
// With a ClusterStateReloadInterval of a second go-redis finds the next leader of a group soon; its default
// is a minute. A member does not answer before there is a leader: the call returns an error, and the caller
// asks again.
func NewCluster(rdb *redis.ClusterClient, settings ...Setting) (*Client, error) {
	if rdb == nil {
		return nil, bad("no client of go-redis")
	}
	c, err := NewWith(goCluster{rdb}, settings...)
	if err == nil {
		// go-redis asks any shard for the list of commands before it sends its first command. Later that
		// could be a shard that says nothing, and commands for other shards would wait.
		go func() { _, _ = c.again(c.keeper.closing, []string{"PING"}) }()
	}
	return c, err
}

// NewWith is [New] for any client library, and [NewCluster] if the server is a [Cluster].
func NewWith(server Server, settings ...Setting) (*Client, error) {
	if server == nil {
		return nil, bad("no server")
	}
	c := &Client{server: server, name: "lock", limit: defaultLimit}
	c.cluster, _ = server.(Cluster)
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

// Close releases the locks that are still held and ends the connections of the client, but not those of the
// library. The locks' contexts end first, with a [*LostError] for which errors.Is(err, ErrClosed) holds.
// Calls that wait for a lock return [ErrClosed], as every later call does. Close returns within [Timeout]. If
// the server has not answered by then, a lock ends with its lease.
func (c *Client) Close() {
	c.keeper.close()
}

// pauses are the times between the attempts of a command that may be sent twice.
var pauses = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond}

// again sends a command that may be sent twice. It stops when the server has answered, after the last
// attempt, or when the client's limit is over. Answers of shards that do not serve the slot are no attempts.
func (c *Client) again(ctx context.Context, words []string) (any, error) {
	if c.keeper.isClosed() {
		return nil, ErrClosed
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.limit, ErrNoAnswer)
	defer cancel()
	return c.untilAnswered(limited, words)
}

// untilAnswered is again that also works for a closed client, and is limited only by its context.
func (c *Client) untilAnswered(limited context.Context, words []string) (any, error) {
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	for attempt := 0; ; attempt++ {
		reply, err := c.untilServed(limited, args)
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

// untilServed sends a command by the library until a shard serves its slot, or limited ends. A shard that
// does not serve the slot has not done the command. The library has followed some redirections at once before
// it returns one.
func (c *Client) untilServed(limited context.Context, args []any) (any, error) {
	for hops := quickHops + 1; ; hops++ {
		reply, err := c.once(limited, args)
		if c.cluster == nil || !notServed(err) {
			return reply, err
		}
		select {
		case <-time.After(hopPause(hops)):
		case <-limited.Done():
			return nil, fmt.Errorf("%w: %w", ended(limited), err)
		}
	}
}

// once sends a command by the library. It returns at the end of ctx even if the library does not: go-redis
// waits for an answer until its ReadTimeout. The command may still be sent after that.
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

// number sends a command that replies with an integer, and that may be sent twice.
func (c *Client) number(ctx context.Context, words []string) (int64, error) {
	reply, err := c.again(ctx, words)
	if err != nil {
		return -1, err
	}
	n, ok := reply.(int64)
	if !ok {
		return -1, fmt.Errorf("%s: the reply is %v, no number", words[0], reply)
	}
	return n, nil
}
